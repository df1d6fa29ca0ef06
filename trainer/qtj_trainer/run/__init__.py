"""One run of the trainer, from its environment to its exit code."""
