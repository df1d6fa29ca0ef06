"""The log of a program of one's own, which has not set up logging for it."""

import logging

__all__ = ["show_log"]

log = logging.getLogger("qtj_trainer")


def show_log(*, leads: bool) -> None:
    """Shows the log of this package on stderr, unless the program has set up logging, before or later on.

    Args:
        leads: Whether this process leads: the others tell only what is wrong.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda _: not logging.getLogger().handlers)  # else a line would come twice
    log.addHandler(handler)
    if not leads:
        log.setLevel(logging.WARNING)
    elif log.level == logging.NOTSET:
        log.setLevel(logging.INFO)
