"""Studies on this machine: many runs of one job, and the table that compares them."""
