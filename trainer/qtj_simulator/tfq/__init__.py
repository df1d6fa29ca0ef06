"""TensorFlow Quantum's interface, with its layers on the fused engine: a program of it changes one import.

    from qtj_simulator import tfq     instead of `import tensorflow_quantum as tfq`

`layers.PQC`, `layers.ControlledPQC` and `layers.Expectation` run on the fused engine where it can, and on TensorFlow
Quantum where it cannot: then one line of the log gives the reason. Everything else is TensorFlow Quantum's own.

    layers         its layers, three of them with the engine
    operation      chooses between the two for each batch, as an operation with gradients
    groups         the circuits of a batch in groups with one engine each
    circuits       serialised circuits, as a structure and numbers
"""

from tensorflow_quantum import (
    append_circuit,
    convert_to_tensor,
    datasets,
    differentiators,
    from_tensor,
    get_expectation_op,
    get_quantum_concurrent_op_mode,
    get_sampled_expectation_op,
    get_sampling_op,
    get_state_op,
    get_unitary_op,
    math,
    noise,
    optimizers,
    padded_to_ragged,
    padded_to_ragged2d,
    resolve_parameters,
    set_quantum_concurrent_op_mode,
    util,
)

from qtj_simulator.tfq import layers

__all__ = [
    "append_circuit",
    "convert_to_tensor",
    "datasets",
    "differentiators",
    "from_tensor",
    "get_expectation_op",
    "get_quantum_concurrent_op_mode",
    "get_sampled_expectation_op",
    "get_sampling_op",
    "get_state_op",
    "get_unitary_op",
    "layers",
    "math",
    "noise",
    "optimizers",
    "padded_to_ragged",
    "padded_to_ragged2d",
    "resolve_parameters",
    "set_quantum_concurrent_op_mode",
    "util",
]
