"""The lives of jobs with TensorBoard that faults are put into."""

from datetime import timedelta
from typing import Any

from qtj_operator.controller.client import Resource
from tests.faults.actors import Cluster, Deed, Script
from tests.faults.admission import Denial
from tests.faults.scenario import Scenario
from tests.faults.scenario_steps import ENDLESS, ENDLESS_AT_FIRST, admit_again, delete, edit, in_phase
from tools.pod_status import NAMESPACE

_BOARD = "qcnn-tensorboard"
_WITH_BOARD: dict[str, Any] = {"tensorboard": {}}


def _spoil(cluster: Cluster) -> None:
    """Somebody scales the Deployment, and sends the Service elsewhere."""
    cluster.store.update(Resource.DEPLOYMENTS, NAMESPACE, _BOARD, lambda board: board["spec"].update(replicas=3))
    cluster.store.update(Resource.SERVICES, NAMESPACE, _BOARD, lambda service: service["spec"].update(selector={}))


def _deny_and_ask(cluster: Cluster) -> None:
    """No Deployment is admitted from now on, and the job asks for one; its programs are released."""
    cluster.gatekeeper.resources, cluster.gatekeeper.denial = {Resource.DEPLOYMENTS}, Denial.POLICY
    edit(**_WITH_BOARD)(cluster)
    cluster.released.update(ENDLESS_AT_FIRST.endless)


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
        deeds=lambda: [Deed(in_phase("Complete"), edit(**_WITH_BOARD))],
    ),
    Scenario(
        "TensorBoard is no longer wanted",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [Deed(in_phase("Complete"), edit(tensorboard=None))],
    ),
    Scenario(
        "TensorBoard gets another image",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [Deed(in_phase("Complete"), edit(tensorboard={"image": "lab/board:2"}))],
    ),
    Scenario(
        "TensorBoard is edited by somebody",
        "Failed",
        {**_WITH_BOARD, "runPolicy": {"activeDeadlineSeconds": 600}},
        ENDLESS,
        deeds=lambda: [Deed(in_phase("Running"), _spoil)],
    ),
    Scenario(
        "TensorBoard is deleted by somebody",
        "Complete",
        _WITH_BOARD,
        deeds=lambda: [
            Deed(in_phase("Complete"), delete(Resource.DEPLOYMENTS, _BOARD)),
            Deed(in_phase("Complete"), delete(Resource.SERVICES, _BOARD)),
        ],
    ),
    Scenario(
        "TensorBoard, suspend and resume",
        "Complete",
        _WITH_BOARD,
        ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), edit(suspend=True)),
            Deed(in_phase("Suspended"), edit(suspend=False)),
        ],
    ),
    Scenario(
        "TensorBoard is denied for a while",
        "Complete",
        script=ENDLESS_AT_FIRST,
        deeds=lambda: [
            Deed(in_phase("Running"), _deny_and_ask),
            Deed(in_phase("Complete"), admit_again, after=timedelta(seconds=400)),
        ],
        attempts=1,
    ),
    Scenario(
        "TensorBoard goes with its job",
        None,
        {**_WITH_BOARD, "runPolicy": {"ttlSecondsAfterFinished": 5}},
    ),
)
