"""Trains hybrid quantum-classical models with TensorFlow Quantum, on one machine or on many.

`python -m qtj_trainer train qcnn` trains, `python -m qtj_trainer infer` evaluates the trained weights on the held-out
set. Each layer imports only from those below it:

    fork_server  forks trainers from a process that has loaded TensorFlow
    run          training, evaluation and inference of a workload, by the command line
    program      a user's own program in any framework
    tensorboard  what TensorBoard shows: curves, the model, and its circuits
    loop         the steps of a training, for each strategy
    replica      a process, from its environment to its termination message
    report       the page of a job of a cluster
    stored       artifacts and checkpoints
    arrays       trees of arrays of any framework
    workloads    data, model and scores of each kind of training; one file each
    replicate    devices and processes that train together, and the researcher's interface to them
    circuits     the building blocks of the circuits, in Cirq
    storage      artifacts under file:// and gs://
    tracer       profiles of a process, without ending it
    tracking     a training as a run of another server, such as MLflow
    weights      weights of a Keras model as bytes
    step_clock   how old the last step is, and how long the last ones took
    errors, exchange_clock, libraries, listening, loopback: what all of them share

The import of TensorFlow takes 7 seconds, that of TensorFlow Quantum 4 more. So ``--help`` and all checks of arguments
run before it, and functions that need these libraries import them.

Your own programs import `Program` from here: see `qtj_trainer.program.program`. Circuits as layers are in
`qtj_simulator`; `simulate`, `tfq` and `PQC` are their earlier names here. `load` is for what programs have
trained.
"""

import os
from typing import TYPE_CHECKING, Any

import qtj_simulator  # first: it sets what TensorFlow reads when it is imported

if TYPE_CHECKING:
    from qtj_simulator import PQC
    from qtj_trainer.program.load import load
    from qtj_trainer.program.program import Program

__all__ = ["PQC", "Program", "load"]


def __getattr__(name: str) -> Any:
    """Imports `Program`, `PQC` and `load` when they are first used: the trainer itself starts without them."""
    if name == "PQC":
        return qtj_simulator.PQC
    if name == "load":
        from qtj_trainer.program.load import load

        return load
    if name != "Program":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from qtj_trainer.program.running_code import owns_process
    from qtj_trainer.replica.signals import block_sigterm

    if owns_process(os.environ):
        # Before the import: NumPy alone starts a thread for each processor.
        block_sigterm()

    from qtj_trainer.program.program import Program

    return Program
