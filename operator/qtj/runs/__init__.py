"""Runs on this machine: `qtj run`, `list`, `status`, `logs`, `attach`, `stop` and `prune`."""
