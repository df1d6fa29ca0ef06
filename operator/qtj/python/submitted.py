"""Sends the one job or study that Python has prepared."""

import logging

from qtj.submit.submit import Prepared, submit

__all__ = ["submitted"]

_log = logging.getLogger(__name__)


def submitted(prepared: Prepared, namespace: str | None) -> tuple[str, str]:
    """Logs what the user should know, and sends it; returns its name and its namespace.

    Args:
        prepared: One job, or one study.
        namespace: The namespace; None for that of the file or of the context.

    Raises:
        InputError: The API server refuses, or cannot be reached.
    """
    for note in prepared.notes:
        _log.warning("%s", note)
    (stored,) = submit(prepared, namespace, dry_run=False)
    return stored["metadata"]["name"], stored["metadata"]["namespace"]
