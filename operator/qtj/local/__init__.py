"""This machine as a cluster: objects in memory, pods as processes, folders of runs, and who may use them.

The store has the semantics of a kube-apiserver as far as the operator depends on them.
"""
