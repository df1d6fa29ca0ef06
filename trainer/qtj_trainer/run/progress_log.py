"""Every epoch, written down as it ends: where somebody asks for it, for whoever polls misses the fast ones."""

from collections.abc import Mapping
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path

from qtj_operator.api import contract
from qtj_operator.api.progress_log import append_progress

__all__ = ["log_progress"]


def log_progress(environment: Mapping[str, str], progress: contract.Progress) -> None:
    """Appends an epoch to the file that QTJ_PROGRESS_LOG names; without the variable, nobody reads it."""
    named = environment.get(contract.Env.PROGRESS_LOG)
    attempt = environment.get(contract.Env.ATTEMPT, "")
    if named:
        with suppress(OSError), Path(named).open("ab+") as record:  # a line that has no room must not end a training
            append_progress(record, progress, int(attempt) if attempt.isdecimal() else 1, datetime.now(UTC))
