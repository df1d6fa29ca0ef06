"""The QuantumTrainingJob operator: from one YAML to trained weights and an inference result.

Layers, each importing only from those below it::

    cluster      the edge: kopf watches, kubernetes.aio acts
    controller   queue, reconcile, resync, metrics; knows the cluster only as a protocol
    core         pure decisions: decide(observed, now)
    manifests    pure builders: job -> manifests
    api          what a QuantumTrainingJob is
"""
