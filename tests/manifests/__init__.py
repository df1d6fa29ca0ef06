"""Builders: what the cluster will see, as YAML beside the tests."""
