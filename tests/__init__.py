"""Tests: a folder per layer of the operator, one for the trainer, and a real cluster to run the whole on."""
