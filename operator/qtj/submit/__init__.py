"""`qtj submit`: a program or a file becomes a job on a cluster."""
