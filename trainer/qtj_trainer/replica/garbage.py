"""Pauses Python's garbage collector while a program starts.

TensorFlow, Cirq and what they import are a million objects that are never freed. To search them for garbage takes a
tenth of the time of their import, and makes every later collection slower.
"""

import gc
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["none_collected"]


@contextmanager
def none_collected() -> Iterator[None]:
    """Pauses the collector in the block. Later collections ignore the objects that exist at its end."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()
