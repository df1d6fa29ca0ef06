"""Pages in a real browser: the report of a run, and TensorBoard."""
