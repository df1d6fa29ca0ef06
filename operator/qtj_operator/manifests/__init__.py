"""Pure builders: a job in, a manifest out. No clock, no I/O, no cluster."""
