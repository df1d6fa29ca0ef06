"""Circuits of so many qubits that a state fills a machine: time and memory of engines, and what many of them cost."""
