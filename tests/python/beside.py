"""A module beside a notebook, which is not installed."""
