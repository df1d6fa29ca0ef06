"""Shows the trainer's log in programs that have not set up logging."""

import logging
from typing import TextIO

__all__ = ["show_log"]

log = logging.getLogger("qtj_trainer")


class _Handler(logging.StreamHandler[TextIO]):
    """Tells our handler from the user's."""


def show_log(*, leads: bool) -> None:
    """Shows the log of this package on stderr, unless the program has set up logging, now or later.

    Args:
        leads: Whether this process leads. The others log only warnings and errors.
    """
    if any(isinstance(each, _Handler) for each in log.handlers):
        return  # of an earlier program of this process
    handler = _Handler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda _: not logging.getLogger().handlers)  # otherwise a line would appear twice
    log.addHandler(handler)
    if not leads:
        log.setLevel(logging.WARNING)
    elif log.level == logging.NOTSET:
        log.setLevel(logging.INFO)
