"""What a QuantumTrainingJob is: the CRD, names, conditions, parsing and the trainer's contract."""
