"""What the cache knows after a read, a list or a failure has contradicted it."""

from contextlib import suppress
from dataclasses import replace

import pytest

from qtj_operator.controller.cache import CACHED
from qtj_operator.controller.client import ApiError, Object, Resource
from tests.controller.lab import KEY, running
from tests.controller.test_cached_client import LABELS, Far, a_pod
from tests.controller.test_cached_passes import Watched
from tests.jobs import job_object

JOBS, PODS = Resource.QUANTUM_TRAINING_JOBS, Resource.PODS
LOST = ApiError(0, "Unreachable", "the connection was reset")


@pytest.fixture
def far() -> Far:
    return Far()


def labelled(far: Far, labels: dict[str, str]) -> None:
    """Somebody replaces the labels of the pod."""

    def change(pod: Object) -> None:
        pod["metadata"]["labels"] = labels

    far.cluster.store.update(PODS, "lab", "a", change)


async def fails_to_patch(far: Far) -> None:
    """The answer to a write is lost, so the pod is in doubt."""
    far.live.refuse = lambda _: LOST
    with pytest.raises(ApiError):
        await far.client.patch(PODS, "lab", "a", [])
    far.live.refuse = lambda _: None


async def test_a_job_whose_child_is_gone_is_read_until_a_read_succeeds() -> None:
    lab = await Watched.settled()
    lab.stalled.add(JOBS)
    lab.cluster.remove(JOBS, *KEY)
    lab.client.refuse = lambda call: LOST if call == "get quantumtrainingjobs qcnn" else None
    with pytest.raises(ApiError):
        await lab.passes()
    lab.client.refuse = lambda _: None
    lab.client.calls.clear()

    assert await lab.passes() is None
    assert lab.client.calls == ["get quantumtrainingjobs qcnn"], "and no child is created for a job that is gone"


async def test_a_job_whose_children_vanished_in_a_gap_is_read_before_they_are_created_again() -> None:
    lab = await Watched.settled()
    lab.stalled |= set(CACHED)
    lab.cluster.remove(JOBS, *KEY)
    await lab.passes()
    lab.client.calls.clear()

    lab.handler.listed(PODS, [], str(lab.cluster.store.version))

    assert await lab.passes() is None
    assert lab.client.calls == ["get quantumtrainingjobs qcnn"]


async def restarted_by_another_operator() -> Watched:
    """A gang of which another operator has begun the next attempt, and this one has heard nothing."""
    lab = Watched()
    other = replace(lab.reconciler, client=lab.cluster)
    await running(lab)
    lab.stalled |= set(CACHED)
    lab.kubelet.ends("qcnn-worker-1", 137)
    for _ in range(3):
        await other.reconcile(KEY)
    lab.kubelet.reaps()
    lab.waits(seconds=5)
    for _ in range(3):
        await other.reconcile(KEY)
    return lab


@pytest.mark.parametrize("names", [("qcnn-worker-0",), tuple(f"qcnn-worker-{number}" for number in range(12))])
async def test_a_pass_that_finds_pods_of_another_operator_ends_and_the_next_one_reads_the_job(
    names: tuple[str, ...],
) -> None:
    """It has read the job before, and would delete the pods of the next attempt as those of another one."""
    lab = await restarted_by_another_operator()
    for name in names:
        lab.cached.unconfirm(PODS, {"metadata": {"name": name, "namespace": "lab", "labels": LABELS}})
    pods = [pod["metadata"]["uid"] for pod in lab.cluster.store.select(PODS, None, {})]
    lab.client.calls.clear()

    with pytest.raises(ApiError) as refused:
        await lab.passes()
    for _ in range(3):
        with suppress(ApiError):  # what it does not know yet is another than it was
            await lab.passes()

    assert refused.value.reason == "Conflict"
    assert "get quantumtrainingjobs qcnn" in lab.client.calls
    assert [pod["metadata"]["uid"] for pod in lab.cluster.store.select(PODS, None, {})] == pods


async def test_a_job_whose_pods_another_operator_replaced_in_a_gap_is_read_before_they_are_superseded() -> None:
    lab = await restarted_by_another_operator()
    pods = lab.cluster.store.select(PODS, None, {})
    lab.handler.listed(PODS, list(pods), str(lab.cluster.store.version))
    lab.client.calls.clear()

    await lab.settles()

    assert "get quantumtrainingjobs qcnn" in lab.client.calls
    assert [call for call in lab.client.writes if "pods" in call] == []


async def test_a_job_whose_child_was_found_to_be_gone_is_read(far: Far) -> None:
    await far.cluster.create(JOBS, job_object())
    await far.client.create(PODS, a_pod())
    far.hears()
    await far.client.delete(PODS, "lab", "a", await far.version())
    await far.names()
    far.live.calls.clear()

    await far.client.get(JOBS, "lab", "qcnn")
    await far.client.get(JOBS, "lab", "qcnn")

    assert far.live.calls == ["get quantumtrainingjobs qcnn"], "once is enough"


async def test_a_child_that_a_fresh_list_did_not_name_for_want_of_its_label_is_known_again_with_it(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    labelled(far, {})
    assert await far.names(fresh=True) == []

    labelled(far, LABELS)
    far.hears()

    assert await far.names() == ["a"]


async def test_a_child_that_is_read_without_its_label_is_no_child_any_more(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    labelled(far, {})
    await fails_to_patch(far)

    assert await far.names() == []
    labelled(far, LABELS)
    far.hears()
    assert await far.names() == ["a"]


async def test_a_child_whose_name_a_stranger_has_taken_is_gone(far: Far) -> None:
    await far.client.create(PODS, a_pod())
    far.cluster.remove(PODS, "lab", "a")
    await far.cluster.create(PODS, {"metadata": {"name": "a", "namespace": "lab"}, "spec": {"containers": []}})
    await fails_to_patch(far)

    assert await far.names() == []


async def test_a_job_is_looked_at_again_after_a_read_in_the_middle_of_a_pass_has_brought_news(far: Far) -> None:
    """The event of what was read is no news any more, and the pass has decided already."""
    await far.cluster.create(PODS, a_pod())
    with pytest.raises(ApiError):
        await far.client.create(PODS, a_pod())

    await far.client.get(PODS, "lab", "a")

    assert far.hints == [("lab", "qcnn")]
    far.hints.clear()
    await fails_to_patch(far)
    await far.client.get(PODS, "lab", "a")
    assert far.hints == [], "what is as it was known is no news"


async def test_a_deadline_is_judged_by_what_the_api_server_knows_not_by_a_watch_that_is_behind() -> None:
    lab = await Watched.settled(runPolicy={"pendingDeadlineSeconds": 60})
    lab.stalled.add(PODS)
    lab.kubelet.starts()
    lab.waits(seconds=61)

    await lab.settles()

    assert await lab.phase() == "Running"


async def test_a_job_that_is_late_reads_its_pods_once_and_fails() -> None:
    lab = await Watched.settled(runPolicy={"pendingDeadlineSeconds": 60})
    lab.waits(seconds=61)
    lab.client.calls.clear()

    await lab.settles()

    assert await lab.phase() == "Failed"
    assert lab.reads.count("list pods *") == 1
