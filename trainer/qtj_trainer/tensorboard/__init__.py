"""What TensorBoard shows: curves, the model, and its circuits."""
