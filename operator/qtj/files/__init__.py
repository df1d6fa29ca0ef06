"""Files with jobs in them: YAML, and which line says what."""
