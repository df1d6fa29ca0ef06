"""The steps of a training: batches, optimizer, and how replicas take them together."""
