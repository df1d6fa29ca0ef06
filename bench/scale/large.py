"""What jobs and Services as large as they may be cost the operator, and larger jobs beside strangers at its port.

No API server of one machine could hold so many: a program answers in its place.
"""

import sys
from pathlib import Path
from tempfile import TemporaryDirectory

from bench.scale.goals import Goal
from bench.scale.large_cluster import measured

_JOBS, _STRANGERS, _CHILDREN = 1000, 3000, 1000
_BEYOND_MIB, _BELOW_MIB, _HEALTH_SECONDS = 256.0, 512.0, 1.0
"""A kubelet waits one second for a probe, and does so three times before it acts."""


def main() -> int:
    """Measures both; returns the exit code."""
    beyond = _part(f"{_JOBS} jobs above the limit, {_STRANGERS} strangers", "large", _STRANGERS, _BEYOND_MIB)
    below = _part(f"{_JOBS} jobs just below the limit", "just_below", 0, _BELOW_MIB)
    children = _part(f"{_CHILDREN} Services as large as they are kept", "suspended", 0, _BELOW_MIB, _CHILDREN)
    return 0 if all(goal.is_met for goal in (*beyond, *below, *children)) else 1


def _part(name: str, job: str, strangers: int, mib: float, services: int = 0) -> list[Goal]:
    with TemporaryDirectory(prefix="qtj-bench-") as folder:
        cost = measured(Path(folder), job, 1 if services else _JOBS, strangers, services)
    goals = [Goal(f"{name}: most memory", cost.mib, mib, " MiB")]
    if strangers:
        goals.append(Goal(f"{name}: slowest health check", cost.slowest, _HEALTH_SECONDS, " s"))
    print("\n".join(map(str, goals)), flush=True)
    return goals


if __name__ == "__main__":
    sys.exit(main())
