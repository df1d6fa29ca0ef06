"""A cluster in memory, with the semantics of a kube-apiserver as far as the operator depends on them."""
