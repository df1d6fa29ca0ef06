"""When files that grow during a training are stored again.

Nothing can be appended to an object in a bucket, so each copy is the whole file.
"""

import logging
import time
from collections.abc import Callable

from qtj_trainer.errors import TrainerError

__all__ = ["PeriodicUpload"]

_PAUSE = 10.0
"""Seconds from one copy to the next."""

log = logging.getLogger("qtj_trainer")


class PeriodicUpload:
    """The copies of some files. One that fails is a warning: it never ends a training."""

    def __init__(self, store: Callable[[], None], lost: str) -> None:
        """Begins without a copy.

        Args:
            store: Stores the files. It may raise TrainerError.
            lost: What to log if it does, before the reason.
        """
        self._store = store
        self._lost = lost
        self._is_behind = False
        self._next = 0.0

    def grown(self) -> None:
        """Notes that the files have grown, and stores them if the last copy is old enough."""
        self._is_behind = True
        if time.monotonic() > self._next:
            self.copy()

    def catch_up(self) -> None:
        """Stores the files if they have grown since the last copy."""
        if self._is_behind:
            self.copy()

    def copy(self) -> None:
        """Stores the files."""
        try:
            self._store()
            self._is_behind = False
        except TrainerError as problem:
            log.warning("%s: %s", self._lost, problem)
        self._next = time.monotonic() + _PAUSE
