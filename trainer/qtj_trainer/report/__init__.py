"""The page of a job of a cluster, and what it is drawn from."""
