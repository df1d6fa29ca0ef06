// The process that holds a pod's network open. Kubernetes' own is an image, and there is no registry to pull it from.
module quantumtraining.dev/tools/cluster/tools/pause

go 1.24.0
