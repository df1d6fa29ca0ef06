"""What builds, checks and releases the project, and the Kubernetes of this machine. Nothing of it is shipped."""
