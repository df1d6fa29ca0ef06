"""What the end-to-end comparison of a cluster with this machine lets pass, and what it does not."""

from copy import deepcopy
from typing import Any

from tests.e2e.same_status import comparable

THERE: dict[str, Any] = {
    "phase": "Complete",
    "attempt": 1,
    "startTime": "2030-01-01T12:00:00Z",
    "weights": {"uri": "gs://bucket/weights/1f.h5", "sha256": "1f" * 32},
    "conditions": [{"type": "Trained", "message": "stored the weights as gs://bucket/weights/1f.h5"}],
    "inference": {"metrics": {"mse": 0.16107374}},
}


def test_times_and_addresses_may_differ() -> None:
    here = deepcopy(THERE)
    here["startTime"] = "2031-01-01T12:00:00Z"
    here["weights"] = {"uri": "file:///home/weights/2a.h5", "sha256": "2a" * 32}
    here["conditions"][0]["message"] = "stored the weights as file:///home/weights/2a.h5"
    here["inference"]["metrics"]["mse"] = 0.16107376

    assert comparable(here) == comparable(THERE)


def test_nothing_else_may() -> None:
    others = [
        {**THERE, "attempt": 2},
        {**THERE, "inference": {"metrics": {"mse": 0.17}}},
        {**THERE, "conditions": [{"type": "Trained", "message": "stored no weights"}]},
        {name: value for name, value in THERE.items() if name != "startTime"},
    ]

    assert all(comparable(other) != comparable(THERE) for other in others)
