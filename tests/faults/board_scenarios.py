"""The lives of jobs with TensorBoard that faults are put into."""

from datetime import timedelta
from typing import Any

from qtj_operator.controller.client import Resource
from tests.faults.actors import NAMESPACE, Cluster, Deed, Script
from tests.faults.admission import Denial
from tests.faults.scenario import Scenario

__all__ = ["BOARD_SCENARIOS"]

_BOARD = "qcnn-tensorboard"
_WITH_BOARD: dict[str, Any] = {"tensorboard": {}}
_ENDLESS = Script(endless=frozenset({"qcnn-worker-0", "qcnn-worker-1"}))
_ENDLESS_AT_FIRST = Script(endless=frozenset({"qcnn-worker-0#1", "qcnn-worker-1#1"}))


def _in_phase(phase: str) -> Any:
    return lambda job: job.get("status", {}).get("phase") == phase


def _edit(**fields: Any) -> Any:
    def edit(cluster: Cluster) -> None:
        cluster.store.update(Resource.QUANTUM_TRAINING_JOBS, NAMESPACE, "qcnn", lambda job: job["spec"].update(fields))

    return edit


def _spoil(cluster: Cluster) -> None:
    """Somebody scales the Deployment, and sends the Service elsewhere."""
    cluster.store.update(Resource.DEPLOYMENTS, NAMESPACE, _BOARD, lambda board: board["spec"].update(replicas=3))
    cluster.store.update(Resource.SERVICES, NAMESPACE, _BOARD, lambda service: service["spec"].update(selector={}))


def _delete(resource: Resource) -> Any:
    return lambda cluster: cluster.store.delete(resource, NAMESPACE, _BOARD)


def _deny_and_ask(cluster: Cluster) -> None:
    """No Deployment is admitted from now on, and the job asks for one; its programs are released."""
    cluster.gatekeeper.resources, cluster.gatekeeper.denial = {Resource.DEPLOYMENTS}, Denial.POLICY
    _edit(**_WITH_BOARD)(cluster)
    cluster.released.update(_ENDLESS_AT_FIRST.endless)


def _admit(cluster: Cluster) -> None:
    cluster.gatekeeper.denial = None


BOARD_SCENARIOS = (
    Scenario("TensorBoard", "Complete", _WITH_BOARD, attempts=1),
    Scenario(
        "TensorBoard, gang restart",
        "Complete",
        _WITH_BOARD,
        Script(ends={"qcnn-worker-1#1": 137}, endless=frozenset({"qcnn-worker-0#1"})),
        attempts=2,
    ),
    Scenario(
        "TensorBoard after the end",
        "Complete",
        deeds=lambda: [Deed(_in_phase("Complete"), _edit(**_WITH_BOARD))],
    ),
    Scenario(
        "TensorBoard is no longer wanted",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [Deed(_in_phase("Complete"), _edit(tensorboard=None))],
    ),
    Scenario(
        "TensorBoard gets another image",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [Deed(_in_phase("Complete"), _edit(tensorboard={"image": "lab/board:2"}))],
    ),
    Scenario(
        "TensorBoard is edited by somebody",
        "Failed",
        {**_WITH_BOARD, "runPolicy": {"activeDeadlineSeconds": 600}},
        _ENDLESS,
        deeds=lambda: [Deed(_in_phase("Running"), _spoil)],
    ),
    Scenario(
        "TensorBoard is deleted by somebody",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [
            Deed(_in_phase("Complete"), _delete(Resource.DEPLOYMENTS)),
            Deed(_in_phase("Complete"), _delete(Resource.SERVICES)),
        ],
    ),
    Scenario(
        "TensorBoard, suspend and resume",
        "Complete",
        _WITH_BOARD,
        _ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(_in_phase("Running"), _edit(suspend=True)),
            Deed(_in_phase("Suspended"), _edit(suspend=False)),
        ],
    ),
    Scenario(
        "TensorBoard is denied for a while",
        "Complete",
        script=_ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(_in_phase("Running"), _deny_and_ask),
            Deed(_in_phase("Complete"), _admit, after=timedelta(seconds=400)),
        ],
        attempts=1,
    ),
    Scenario(
        "TensorBoard goes with its job",
        None,
        {**_WITH_BOARD, "runPolicy": {"ttlSecondsAfterFinished": 5}},
    ),
)
