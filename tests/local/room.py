"""A disk without room."""

import resource
import signal
from collections.abc import Iterator
from contextlib import contextmanager


@contextmanager
def little_room(size: int) -> Iterator[None]:
    """Lets no file of this process grow over a size: a write is cut, and the next one fails, as on a full disk."""
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    handler = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, before[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, handler)
