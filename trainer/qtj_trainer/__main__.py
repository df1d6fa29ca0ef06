"""`python -m qtj_trainer`: see `qtj_trainer.run.cli`."""

import sys
from importlib.util import find_spec

from qtj_trainer.run.signals import Stop

_NEEDED = ("typer", "numpy", "prometheus_client", "cirq", "tensorflow", "tf_keras", "tensorflow_quantum")
"""What `pip install quantumtrainingjob` alone does not bring, for it runs operators too."""

if __name__ == "__main__":
    # Before the imports: NumPy alone starts a thread for each processor.
    stop = Stop()
    stop.listen()

    if missing := [name for name in _NEEDED if find_spec(name) is None]:
        sys.exit(f"error: {', '.join(missing)} cannot be imported: pip install '.[trainer]' in a checkout of qtj")

    from qtj_trainer.run.cli import main

    main(stop)
