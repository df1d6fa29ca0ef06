"""Python's garbage collector, out of the way while a program starts.

TensorFlow, Cirq and what they import are a million objects that stay to the end. Looking through them again and again
for garbage takes a tenth of the time of their import, and of every later collection.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["none_collected"]


@contextmanager
def none_collected() -> Iterator[None]:
    """Collects nothing meanwhile, and spares what has come to stay afterwards."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
