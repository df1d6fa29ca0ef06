"""The fused engine: a state-vector simulator for training.

    reading       a circuit's operations, decomposed into powers of gates on one and two qubits
    gates         these elementary gates, and their angles
    blocks        neighbouring gates fused into 4x4 unitaries
    parity        moves gates between blocks, so that blocks cost half
    observables   where each readout is measured
    shape         how a state is arranged in memory
    schedule      which blocks are done in which pass over the state
    plan          all of these for one circuit; `explain()` prints it
    program       the plan as the integers and constants that the native engine reads, and these as bytes
    native/       the sweeps over amplitudes, and the operation, in C
    build         compiles native/
    library       loads it
    engine        values and gradients from NumPy arrays
    op            the same as a TensorFlow operation
    device        the processor or a GPU, as the user asked
    cuda/         the engine on a GPU

Method and formulas are in `native/README.md`; use and results in docs/design/engine.md.
"""
