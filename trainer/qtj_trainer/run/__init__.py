"""Training, evaluation and inference of a workload, by the command line."""
