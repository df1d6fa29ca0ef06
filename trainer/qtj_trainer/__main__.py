"""`python -m qtj_trainer`: see `qtj_trainer.run.cli`."""

import sys
from importlib.util import find_spec

from qtj_trainer.replica.signals import Stop

_NEEDED = ("typer", "numpy", "prometheus_client", "cirq", "tensorflow", "tf_keras", "tensorflow_quantum")
"""Modules that may be missing if the sources of a checkout are on the path."""
_INSTALL = (
    "pip install ./operator/qtj_contract ./operator/qtj_report ./trainer/qtj_simulator"
    " './trainer/qtj_trainer[tensorflow]' in a checkout of qtj"
)

if __name__ == "__main__":
    # Before the imports: NumPy alone starts a thread for each processor.
    stop = Stop()
    stop.listen()

    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        sys.exit(f"error: {', '.join(missing)} cannot be imported: {_INSTALL}")

    from qtj_trainer.run.cli import main

    main(stop)
