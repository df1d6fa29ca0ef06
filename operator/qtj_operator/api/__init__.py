"""What a QuantumTrainingJob is: models, names, conditions, the trainer contract and the CRD they generate."""
