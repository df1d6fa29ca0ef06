"""From a key to a settled job: queue, reconcile, resync and metrics. Knows the cluster only as a protocol."""
