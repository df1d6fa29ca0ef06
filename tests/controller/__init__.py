"""From a key to a settled job: against a cluster in memory, and against a real API server."""
