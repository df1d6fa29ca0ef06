"""Kubernetes' own validation of a pod template, as far as it can be known without a cluster."""
