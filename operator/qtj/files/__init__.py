"""Reads files with jobs: YAML as kubectl reads it, the line of each field, and `--set`."""
