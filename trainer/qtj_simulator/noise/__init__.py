"""Expectation values of noisy circuits by quantum trajectories, and of circuits that are measured in shots.

channels.py    what a channel of Cirq does, as branches
circuit.py     a circuit with noise: its gates as blocks, and its channels between them
program.py     the numbers that the native library reads
unitaries.py   from angles to the matrices of blocks, in TensorFlow
shifts.py      parameter-shift rules
estimators.py  the native operation and its gradient; from trajectories and shots to estimates and their variances
layer.py       the Keras layer
"""
