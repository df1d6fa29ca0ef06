"""Lives in which an elastic job has fewer places than workers, and more again."""

from datetime import timedelta
from typing import Any

from tests.faults.actors import Deed, Script
from tests.faults.scenario import Scenario, Spec
from tests.faults.scenario_steps import always, have_places, in_phase, lose_place, release, runs_with, scale

_ELASTIC = {"minReplicas": 1, "scaleDownAfterSeconds": 60, "scaleUpAfterSeconds": 600}
_RUNS = frozenset(f"qcnn-worker-{index}" for index in range(4))
_UNTIL_RELEASED = Script(endless=_RUNS)


def _elastic(workers: int = 2, **elastic: Any) -> Spec:
    return {
        "replicaSpecs": {"Worker": {"replicas": workers}},
        "runPolicy": {"backoffLimit": 0, "disruptionLimit": 1, "elastic": {**_ELASTIC, **elastic}},
    }


ELASTIC_SCENARIOS = (
    Scenario(
        "a place is lost for good",
        "Complete",
        _elastic(),
        _UNTIL_RELEASED,
        deeds=lambda: [
            Deed(in_phase("Running"), lose_place("qcnn-worker-1", 1)),
            Deed(runs_with(1), release(*_RUNS)),
        ],
        attempts=3,
    ),
    Scenario(
        "a place is lost, and comes back",
        "Complete",
        _elastic(),
        _UNTIL_RELEASED,
        deeds=lambda: [
            Deed(in_phase("Running"), lose_place("qcnn-worker-1", 1)),
            Deed(runs_with(1), have_places(2), after=timedelta(seconds=900)),
            Deed(runs_with(2), release(*_RUNS)),
        ],
        attempts=4,
    ),
    Scenario(
        "training ends while a place is looked for",
        "Complete",
        _elastic(maxReplicas=3),
        _UNTIL_RELEASED,
        deeds=lambda: [
            Deed(in_phase("Running"), have_places(2)),
            Deed(always, release(*_RUNS), after=timedelta(seconds=900)),
        ],
        attempts=1,
    ),
    Scenario(
        "more places than the user asked for",
        "Complete",
        _elastic(maxReplicas=3),
        _UNTIL_RELEASED,
        deeds=lambda: [Deed(runs_with(3), release(*_RUNS))],
        attempts=2,
        faults=False,
    ),
    Scenario(
        "fewer places than the minimum",
        "Complete",
        _elastic(3, minReplicas=2),
        _UNTIL_RELEASED,
        deeds=lambda: [
            Deed(in_phase("Running"), have_places(1)),
            Deed(in_phase("Running"), lose_place("qcnn-worker-2", 1)),
            Deed(always, have_places(3), after=timedelta(seconds=900)),
            Deed(runs_with(3), release(*_RUNS)),
        ],
        attempts=2,
        faults=False,
    ),
    Scenario(
        "the user asks for a number while a place is missing",
        "Complete",
        _elastic(),
        _UNTIL_RELEASED,
        deeds=lambda: [
            Deed(in_phase("Running"), lose_place("qcnn-worker-1", 1)),
            Deed(runs_with(1), have_places(4)),
            Deed(runs_with(1), scale(3)),
            Deed(runs_with(3), release(*_RUNS)),
        ],
        attempts=4,
        faults=False,
    ),
)
