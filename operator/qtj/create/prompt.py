"""The options of a new job, and the questions that ask for them."""

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
    VQE = "vqe"
    QAOA = "qaoa"
    CLASSIFIER = "classifier"
    STUDY = "study"


@dataclass(frozen=True, slots=True, kw_only=True)
class JobOptions:
    """The options of a new job.

    Attributes:
        kind: What it trains.
        name: Its name, and that of its files; None for one after the kind.
        workers: How many train together.
        epochs: Epochs to train for.
        artifacts: Where weights and results are stored on a cluster; None for an address that the user replaces later.
    """

    kind: Kind
    name: str | None = None
    workers: int
    epochs: int
    artifacts: str | None = None


def prompt_for(options: JobOptions) -> JobOptions:
    """Asks for each option at the terminal; ENTER takes the given one."""
    kind = Kind(Prompt.ask("What to train", choices=list(Kind), default=str(options.kind)))
    name = Prompt.ask("Name of the job", default=options.name or f"my-{kind}")
    workers = IntPrompt.ask("Workers that train together", default=options.workers)
    epochs = IntPrompt.ask("Epochs", default=options.epochs)
    if kind == Kind.LOOP:  # its program cannot use a bucket
        return JobOptions(kind=kind, name=name, workers=workers, epochs=epochs)
    artifacts = Prompt.ask("Bucket for a cluster, gs://BUCKET/PATH (ENTER for later)", default=options.artifacts or "")
    return JobOptions(kind=kind, name=name, workers=workers, epochs=epochs, artifacts=artifacts or None)
