"""What the stages are, which of them make a shard, and the table of their times."""

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Stage:
    """One target of the Makefile.

    Attributes:
        target: its name.
        shard: of `make test-long`, the one that it is part of.
        beside: whether it runs at low priority beside those after it, with what they leave of the processors.
        alone: whether those beside have to end before it: containers are in control groups of their own, so low
            priority would not keep others from their processors.
    """

    target: str
    shard: int = 1
    beside: bool = False
    alone: bool = False


@dataclass(frozen=True)
class Took:
    """A stage that has ended.

    Attributes:
        target: its name.
        seconds: how long it was waited for.
        passed: whether it did not fail.
        busy: the share of all processors that its processes took, of those that it has waited for; None for one that
            ran beside others.
    """

    target: str
    seconds: float
    passed: bool
    busy: float | None = 0.0


TEST = (
    Stage("check"),
    Stage("test-faults", beside=True),
    Stage("test-trainer"),
    Stage("test-command"),
    Stage("test-cluster", alone=True),
)
"""In an order in which tools and images are built before they are needed."""
TEST_MINUTES = 40.0
"""More than this is worth a warning: CI ends a run after 90 minutes, and the next machine may be slower."""

LONG = (
    Stage("long-tests", 1),
    Stage("long-lives", 1),
    Stage("long-soak", 2),
    Stage("long-e2e", 2),
)
SHARDS = max(stage.shard for stage in LONG)
SHARD_MINUTES = 150.0


def shard(text: str) -> Sequence[Stage]:
    """The stages of a shard, as in `1/2`; of all shards for an empty text.

    Raises:
        ValueError: there is no such shard; the message is a sentence.
    """
    if not text:
        return LONG
    shards = {f"{number}/{SHARDS}": number for number in range(1, SHARDS + 1)}
    if text not in shards:
        raise ValueError(f"there is no shard {text}: write SHARD={' or SHARD='.join(shards)}")
    return [stage for stage in LONG if stage.shard == shards[text]]


def table(took: Sequence[Took], limit: float) -> str:
    """What each stage took of time and processors, the sum, and a warning if it is above the limit in minutes."""
    total = sum(each.seconds for each in took)
    lines = [
        f"  {each.target:<14}{clock(each.seconds):>8}{'beside' if each.busy is None else f'{each.busy:.0%}':>7}"
        f"{'' if each.passed else '  failed'}"
        for each in took
    ]
    lines.append(f"  {'in all':<14}{clock(total):>8}")
    if total > limit * 60:
        lines.append(f"warning: this took more than {limit:g} minutes: see the budget of each stage in CONTRIBUTING.md")
    return "\n".join(["minutes of each stage, and how busy it kept the processors:", *lines])


def clock(seconds: float) -> str:
    """Seconds as minutes and seconds: `7:05`."""
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes}:{rest:02}"
