"""New jobs: `qtj init` and `qtj convert`."""
