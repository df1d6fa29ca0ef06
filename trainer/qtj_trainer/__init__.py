"""Trains hybrid quantum-classical models with TensorFlow Quantum, on one machine or on many.

`python -m qtj_trainer train qcnn` trains, `python -m qtj_trainer infer` evaluates the trained weights on the held-out
set. Each layer imports only from those below it:

    run        one training or inference run from its environment to its exit code
    workloads  data, model and scores of each kind of training; one file each
    replicate  devices and processes that train together, and the researcher's interface to them
    tfq        TensorFlow Quantum's interface, with its layers on our engine
    simulate   expectation values and gradients of circuits behind one Keras layer
    circuits   the building blocks of the circuits, in Cirq
    storage    artifacts under file:// and gs://
    tracer     profiles of a process, without ending it

The import of TensorFlow takes 7 seconds, that of TensorFlow Quantum 4 more. So ``--help`` and all checks of arguments
run before it, and functions that need these libraries import them.

Your own programs import `Program` from here: see `qtj_trainer.run.program`. `load` is for what they have trained.
"""

import os
from typing import TYPE_CHECKING, Any

from qtj_contract.control_groups import cpu_limit

if TYPE_CHECKING:
    from qtj_trainer.run.load import load
    from qtj_trainer.run.program import Program

__all__ = ["Program", "load"]

# TensorFlow reads these variables when it is first imported or first used. No module of this package is imported before
# this, and so they hold for the trainer and for every program that uses it.
# TensorFlow Quantum supports only Keras 2.
os.environ.setdefault("TF_USE_LEGACY_KERAS", "1")
# TensorFlow's C++ code logs each plugin that it registers twice and each GPU that it does not find, many times in a
# multi-worker run. Errors that matter are exceptions.
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
# Otherwise the first process takes all memory of each GPU, and the next one that shares it cannot start.
os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
# TensorFlow counts the processors of the node: a container with a limit of 2 of 64 would run 64 threads, and the kernel
# would throttle it for most of each scheduling period.
if _processors := cpu_limit():
    os.environ.setdefault("TF_NUM_INTRAOP_THREADS", str(_processors))


def __getattr__(name: str) -> Any:
    """Imports `Program` or `load` when it is first used: the trainer itself starts without them."""
    if name == "load":
        from qtj_trainer.run.load import load

        return load
    if name != "Program":
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from qtj_trainer.run.process_owner import owns_process
    from qtj_trainer.run.signals import block_sigterm

    if owns_process(os.environ):
        # Before the import: NumPy alone starts a thread for each processor.
        block_sigterm()

    from qtj_trainer.run.program import Program

    return Program
