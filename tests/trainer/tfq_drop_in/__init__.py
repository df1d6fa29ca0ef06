"""Programs for TensorFlow Quantum, with the drop-in module and without."""
