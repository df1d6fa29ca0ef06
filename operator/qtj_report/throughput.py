"""Training examples per second of a run, from its recorded epochs."""

from collections.abc import Iterator, Sequence
from statistics import median

from qtj_contract.progress_log import EpochRecord

__all__ = ["steady_epochs", "throughput"]


def steady_epochs(epochs: Sequence[EpochRecord]) -> Sequence[EpochRecord]:
    """Returns the epochs that count: on as many devices as the last one, without those in which programs compile."""
    reported = [each for each in epochs if each.examples_per_second]
    alike = [each for each in reported if each.devices == reported[-1].devices]  # a restart may change this
    return list(_after_the_first(alike)) or alike


def throughput(steady: Sequence[EpochRecord]) -> float:
    """Returns the median of the training examples per second of at least one epoch."""
    return median(each.examples_per_second or 0 for each in steady)


def _after_the_first(epochs: Sequence[EpochRecord]) -> Iterator[EpochRecord]:
    """Yields all epochs except the first of each attempt, in which programs compile."""
    attempt = None
    for each in epochs:
        if each.attempt == attempt:
            yield each
        attempt = each.attempt
