"""The goals of the operator at scale, each with what was measured, in one line."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from bench.scale.blocks import Block
from bench.scale.fairness import Fairness
from bench.scale.idle import Idle
from bench.scale.measure import Round, Size

Result = Round | Idle | Fairness | Block

_TO_PEER, _TO_FLOOR = 1.2, 1.5
_CPU_PER_REPLICA = 2.5 / 400
_HEALTH_SECONDS = 0.1
_PODS, _PODS_MIB = 5_000, 200.0
_STEP_SECONDS = 0.02
_DELAY_SECONDS = 2.0
_SETTLED_SECONDS = 2.0


@dataclass(frozen=True)
class Goal:
    """A goal.

    Attributes:
        name: What was measured.
        value: What was found.
        limit: What it may be at most.
        unit: Of both, with the space before it.
    """

    name: str
    value: float
    limit: float
    unit: str = ""

    @property
    def is_met(self) -> bool:
        """Whether the value is within the limit."""
        return self.value <= self.limit

    def __str__(self) -> str:
        verdict = "met" if self.is_met else "missed"
        return f"goal {verdict}: {self.name} {self.value:.4g}{self.unit}, at most {self.limit:.4g}{self.unit}"


def goals(results: Sequence[Result]) -> Iterator[Goal]:
    """Yields the goals for what was measured of our operator; of rounds, for their medians."""
    rounds = [each for each in results if isinstance(each, Round)]
    for size in dict.fromkeys(each.size for each in rounds):
        yield from _of_size(size, [each for each in rounds if each.size == size])
    for each in results:
        if isinstance(each, Block):
            yield Goal(f"{each.size}: longest step of the event loop", 1000 * each.seconds, 1000 * _STEP_SECONDS, " ms")
        elif isinstance(each, Fairness) and each.subject == "ours":
            delay = each.beside[1] - each.alone[1]
            yield Goal("delay of small jobs behind a large one", delay, _DELAY_SECONDS, " s")
        elif isinstance(each, Idle) and each.subject == "ours":
            yield Goal(f"{each.finished} finished: settled after a restart", each.settled, _SETTLED_SECONDS, " s")
            yield Goal(f"{each.finished} finished: requests in {each.seconds:.0f} idle s", each.idle_requests, 0)


def _of_size(size: str, rounds: Sequence[Round]) -> Iterator[Goal]:
    ours = [each for each in rounds if each.subject == "ours"]
    if not ours:
        return
    shape = Size(*map(int, size.split("x")))
    running = [each.running for each in ours if each.running is not None]
    peer = [each.running for each in rounds if each.subject == "peer" and each.running is not None]
    floor = [each.pods for each in rounds if each.subject == "floor"]
    if peer:
        yield Goal(f"{size}: all running, to the peer", _median(running) / _median(peer), _TO_PEER)
    if floor:
        yield Goal(f"{size}: all pods, to the floor", _median([each.pods for each in ours]) / _median(floor), _TO_FLOOR)
    limit = _CPU_PER_REPLICA * shape.replicas
    yield Goal(f"{size}: processor time", _median([each.cpu for each in ours]), limit, " s")
    yield Goal(f"{size}: writes", _median([each.writes for each in ours]), 2 * shape.replicas + 2 * shape.jobs)
    yield Goal(f"{size}: conflicts", max(each.conflicts for each in ours), 0)
    yield Goal(f"{size}: /healthz", 1000 * max(each.health for each in ours), 1000 * _HEALTH_SECONDS, " ms")
    if shape.replicas >= _PODS:
        yield Goal(f"{size}: memory", max(each.mib for each in ours), _PODS_MIB, " MiB")


def _median(values: Sequence[float]) -> float:
    return float(statistics.median(values))
