"""An elastic job on a cluster in memory that is watched, as the operator sees a real one."""

from typing import Any

from qtj.monitor.cluster_source import ClusterSource
from qtj_operator.controller.client import Resource
from tests.controller.lab import restarted, running
from tests.controller.test_cached_passes import Watched

ELASTIC: dict[str, Any] = {
    "runPolicy": {
        "elastic": {"minReplicas": 1, "maxReplicas": 3, "scaleDownAfterSeconds": 60, "scaleUpAfterSeconds": 600}
    }
}
NO_ROOM = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable", "message": "0/2 nodes are available"}


async def probing() -> Watched:
    """Two workers train, and the place of a third one is looked for."""
    lab = await running(Watched(), **ELASTIC)
    await lab.settles_after(seconds=601)
    lab.kubelet.sets("qcnn-worker-2", phase="Pending", conditions=[NO_ROOM])
    await lab.settles()
    return lab


async def test_a_probe_waits_beside_the_training_and_is_no_replica() -> None:
    lab = await probing()

    (seen,) = await ClusterSource(lab.cluster, lambda: lab.now, "lab", ["qcnn"]).look()

    assert lab.pods == ("qcnn-worker-0", "qcnn-worker-1", "qcnn-worker-2")
    assert ((await lab.status())["attempt"], (await lab.status())["ready"]) == (1, "2/2")
    assert [each.name for each in seen.replicas] == ["worker-0", "worker-1"]
    assert [pod["metadata"]["name"] for pod in seen.pods] == ["qcnn-worker-0", "qcnn-worker-1"]


async def test_a_place_that_a_probe_has_found_is_taken_by_a_worker_of_the_next_attempt() -> None:
    lab = await probing()
    lab.kubelet.starts("qcnn-worker-2")
    lab.kubelet.ends("qcnn-worker-2", 0)

    await restarted(lab)

    assert ((await lab.status())["attempt"], (await lab.status())["ready"]) == (2, "3/3")
    assert lab.cluster.names(Resource.SERVICES) == ("qcnn-worker-0", "qcnn-worker-1", "qcnn-worker-2")
