"""What a training stores: its artifacts, its checkpoints, and how far it is."""
