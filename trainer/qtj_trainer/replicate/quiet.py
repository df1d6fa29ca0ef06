"""Importing TensorFlow without the lines it always prints."""

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
"""Two builds of CUDA in one wheel register their plugins twice, on every machine, and before any log level applies."""


@contextmanager
def without_plugin_noise() -> Iterator[None]:
    """Holds back what C++ code writes to stderr meanwhile, and then lets through all but those lines."""
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
