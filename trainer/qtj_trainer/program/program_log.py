"""Shows the trainer's log in programs that have not set up logging."""

import logging

__all__ = ["show_log"]

log = logging.getLogger("qtj_trainer")


def show_log(*, leads: bool) -> None:
    """Shows the log of this package on stderr, unless the program has set up logging, now or later.

    Args:
        leads: Whether this process leads. The others log only warnings and errors.
    """
    handler = logging.StreamHandler()
    handler.setFormatter(logging.Formatter("%(message)s"))
    handler.addFilter(lambda _: not logging.getLogger().handlers)  # otherwise a line would appear twice
    log.addHandler(handler)
    if not leads:
        log.setLevel(logging.WARNING)
    elif log.level == logging.NOTSET:
        log.setLevel(logging.INFO)
