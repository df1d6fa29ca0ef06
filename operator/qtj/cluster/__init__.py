"""The cluster of the current context, as commands reach it: with the kubeconfig that kubectl uses."""
