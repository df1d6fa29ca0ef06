"""`qtj status`, `top`, `logs` and `events`: jobs of this machine, and jobs of a cluster."""
