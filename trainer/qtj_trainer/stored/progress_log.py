"""Records every epoch in a file and formats it for the log. Polling the progress would miss fast epochs."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import qtj_contract as contract
from qtj_contract.progress_log import EpochRecord, append_progress, read_progress
from qtj_contract.whole_file import growing
from qtj_trainer.stored.position import Epoch

__all__ = ["epoch_line", "held_out_line", "log_progress", "logged_epochs"]


def log_progress(environment: Mapping[str, str], progress: contract.Progress) -> None:
    """Appends an epoch to the file that QTJ_PROGRESS_LOG names; without the variable, does nothing."""
    named = environment.get(contract.Env.PROGRESS_LOG)
    attempt = environment.get(contract.Env.ATTEMPT, "")
    if named:
        with suppress(OSError), growing(Path(named)) as record:  # a full disk must not end a training
            append_progress(record, progress, int(attempt) if attempt.isdecimal() else 1, datetime.now(UTC))


def logged_epochs(environment: Mapping[str, str]) -> Sequence[EpochRecord]:
    """Returns the epochs in the file that QTJ_PROGRESS_LOG names; without the variable or the file, none."""
    named = environment.get(contract.Env.PROGRESS_LOG)
    with suppress(OSError):
        return read_progress(Path(named).read_text(errors="replace")).epochs if named else ()
    return ()


def epoch_line(epoch: Epoch, epochs: int) -> str:
    """Returns the log line of an epoch; `epochs` is the number of all epochs. A loss that is not finite is left out."""
    losses = {"loss": epoch.loss} if math.isfinite(epoch.loss) else {}
    numbers = [f"{name} {value:.4f}" for name, value in (losses | epoch.scores).items()]
    return "  ".join([f"{epoch.number:{len(str(epochs))}}/{epochs}", *numbers])


def held_out_line(epoch: Epoch, epochs: int) -> str:
    """Returns the log line of an epoch, with its speed and its scores on the held-out set."""
    loss = {} if epoch.validation_loss is None else {"loss": epoch.validation_loss}
    held_out = "  ".join(f"{name} {value:.4f}" for name, value in (loss | epoch.scores).items())
    trained = epoch_line(replace(epoch, scores={}), epochs)
    return f"{trained}  {epoch.examples_per_second:.0f} examples/s  held-out: {held_out}"
