"""Trains hybrid quantum-classical models with TensorFlow Quantum, on one machine or on many.

`python -m qtj_trainer train qcnn` trains, `python -m qtj_trainer infer` checks the trained weights on data the training
never saw. Layers, each importing only from those below it:

    run        one training or inference run from its environment to its exit code
    workloads  what is trained: data, model and scores; one file each
    replicate  devices and processes that train together, and the researcher's interface to them
    simulate   expectation values and gradients of circuits behind one Keras layer
    circuits   the building blocks of the circuits, in Cirq
    storage    artifacts under file:// and gs://
    tracer     profiles of a process that do not end it

Importing TensorFlow takes 7 seconds, TensorFlow Quantum 4 more. So ``--help`` and every check of what the user wrote
come first, and the modules that need them are imported inside the functions that get there.

Programs of one's own take `Program` from here: see `qtj_trainer.run.program`.
"""

import os
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from qtj_trainer.run.program import Program

__all__ = ["Program"]

# TensorFlow reads both when it is first imported, and no module of this package is imported before these lines.
# TensorFlow Quantum supports Keras 2 alone.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
# TensorFlow's C++ side reports each plugin it registers twice and each GPU it does not find, and a multi-worker run
# many times that. What matters comes as an exception.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")


def __getattr__(name: str) -> Any:  # noqa: ANN401  whatever is asked for
    """Imports `Program` when it is first asked for: the trainer itself starts without it."""
    if name != "Program":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from qtj_trainer.run.signals import hold_back  # noqa: PLC0415

    # Before the import: NumPy alone starts a thread for each processor.
    hold_back()

    from qtj_trainer.run.program import Program  # noqa: PLC0415

    return Program
