"""Runs on this machine: `qtj run`, `list`, `attach`, `stop` and `prune`, and what others show of them."""
