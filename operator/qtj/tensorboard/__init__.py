"""`qtj tensorboard`: TensorBoard of a run on this machine, or of a job on a cluster."""
