"""What a user wants of a new job, and the questions that find it out."""

from dataclasses import dataclass
from enum import StrEnum

from rich.prompt import IntPrompt, Prompt

__all__ = ["JobOptions", "Kind", "prompt_for"]


class Kind(StrEnum):
    """What a new job trains."""

    QCNN = "qcnn"
    CIRCUIT = "circuit"
    KERAS = "keras"
    LOOP = "loop"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """What a user wants of a new job.

    Attributes:
        kind: What it trains.
        name: Its name, and that of its files; None for one that says the kind.
        workers: How many train together.
        epochs: Epochs to train for.
        artifacts: Where weights and results go on a cluster; None for an address to be replaced.
    """

    kind: Kind
    name: str | None = None
    workers: int
    epochs: int
    artifacts: str | None = None


def prompt_for(wanted: JobOptions) -> JobOptions:
    """Asks a user at a terminal for each part, with what is given as the answer of ENTER."""
    kind = Kind(Prompt.ask("What to train", choices=list(Kind), default=str(wanted.kind)))
    name = Prompt.ask("Name of the job", default=wanted.name or f"my-{kind}")
    workers = IntPrompt.ask("Workers that train together", default=wanted.workers)
    epochs = IntPrompt.ask("Epochs", default=wanted.epochs)
    if kind == Kind.LOOP:  # its program knows no bucket
        return JobOptions(kind=kind, name=name, workers=workers, epochs=epochs)
    artifacts = Prompt.ask("Bucket for a cluster, gs://BUCKET/PATH (ENTER for later)", default=wanted.artifacts or "")
    return JobOptions(kind=kind, name=name, workers=workers, epochs=epochs, artifacts=artifacts or None)
