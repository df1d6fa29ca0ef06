"""Removes the lines that TensorFlow prints at each import."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager

__all__ = ["without_plugin_noise"]

_NOISE = re.compile(
    rb"Unable to register cu\w+ factory"
    rb"|computation placer already registered"
    rb"|All log messages before absl::InitializeLog"
)
"""The wheel has two builds of CUDA, which register their plugins twice on every machine, before log levels apply."""


@contextmanager
def without_plugin_noise() -> Iterator[None]:
    """Keeps what C++ code writes to stderr in the block, and then prints it without those lines."""
    sys.stderr.flush()
    stderr = os.dup(2)
    with tempfile.TemporaryFile() as held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            os.write(2, b"".join(line for line in held if not _NOISE.search(line)))
