"""Lives in which the user asks for another number of replicas.

Random lives do so too, so few of these are lived with every fault.
"""

from datetime import timedelta
from typing import Any

from tests.faults.actors import Deed, Script
from tests.faults.scenario import Scenario, Spec
from tests.faults.scenario_steps import ENDLESS_AT_FIRST, always, edit, in_phase, runs_with, scale

_QUEUED: Spec = {"runPolicy": {"schedulingPolicy": {"queueName": "team"}}}
_PARAMETER_SERVER: Spec = {
    "strategy": "ParameterServer",
    "replicaSpecs": {"Chief": {}, "PS": {}, "Worker": {"replicas": 2}},
}
_NO_FAILURES: Spec = {"runPolicy": {"backoffLimit": 0, "disruptionLimit": 0}}


def _two_become(size: int, *, faults: bool = False, **spec: Any) -> Scenario:
    return Scenario(
        f"{size} workers instead of two",
        "Complete",
        {**_NO_FAILURES, **spec},
        ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), scale(size))],
        attempts=2,
        faults=faults,
    )


SCALE_SCENARIOS = (
    _two_become(1, faults=True),
    _two_become(4),
    _two_become(3, replicaService="Shared"),
    Scenario(
        "three and then one worker",
        "Complete",
        script=Script(endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1", "qcnn-worker-0#2"})),
        deeds=lambda: [Deed(in_phase("Running"), scale(3)), Deed(runs_with(3), scale(1))],
        attempts=3,
        faults=False,
    ),
    Scenario(
        "another number of parameter servers",
        "Complete",
        _PARAMETER_SERVER,
        Script(endless=frozenset({"qcnn-chief-0#1"})),
        deeds=lambda: [Deed(in_phase("Running"), scale(2, "PS"))],
        attempts=2,
        faults=False,
    ),
    Scenario(
        "queued, three workers instead of two",
        "Complete",
        _QUEUED,
        ENDLESS_AT_FIRST,
        deeds=lambda: [Deed(in_phase("Running"), scale(3))],
        attempts=2,
    ),
    Scenario(
        "a worker fails, and the user asks for another number",
        "Complete",
        script=Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-worker-0#1"})),
        deeds=lambda: [Deed(always, scale(3), after=timedelta(seconds=6))],
        faults=False,
    ),
    Scenario(
        "a suspended job gets another number",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), edit(suspend=True)),
            Deed(in_phase("Suspended"), scale(3)),
            Deed(in_phase("Suspended"), edit(suspend=False)),
        ],
        attempts=2,
        faults=False,
    ),
    Scenario(
        "another number while inference runs",
        "Complete",
        deeds=lambda: [Deed(in_phase("Inferring"), scale(3))],
        attempts=1,
        faults=False,
    ),
)
