"""`qtj doctor`: what this machine, a cluster and a bucket lack."""
