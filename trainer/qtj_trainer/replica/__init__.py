"""A process of a job, from its environment to its termination message: signals, progress, profiles."""
