"""What a tracking server, such as MLflow, gets of a training."""
