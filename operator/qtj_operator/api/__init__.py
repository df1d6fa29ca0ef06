"""What a QuantumTrainingJob is: models, names and conditions, and the CRD that is generated from the models."""
