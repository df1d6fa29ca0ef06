"""Reading pods and Jobs as the API server returns them."""

from datetime import UTC, datetime
from typing import Any

import pytest

from qtj_operator.api.contract import TerminationMessage, Weights
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import Role
from qtj_operator.core.ending import Ending
from qtj_operator.core.failures import described
from qtj_operator.core.observed import InferenceRun, is_controlled_by
from qtj_operator.core.pod import Pod, Waiting
from tests.core.world import later, parameter_servers, pods_of, running_job


def raw_pod(
    *, name: str = "qcnn-worker-1", labels: dict[str, str] | None = None, sidecar: bool = False, **status: Any
) -> dict[str, Any]:
    containers = [{"name": "trainer", "image": "train:1"}]
    if sidecar:
        containers.insert(0, {"name": "proxy", "image": "proxy:1"})
    ours = {f"quantumtraining.dev/{key}": value for key, value in (labels or {}).items()}
    return {
        "metadata": {"name": name, "uid": "u", "resourceVersion": "7", "labels": ours},
        "spec": {"containers": containers},
        "status": status,
    }


def container(name: str = "trainer", *, image: str = "train:1", **state: Any) -> dict[str, Any]:
    return {"name": name, "image": image, "state": state}


def terminated(exit_code: int, message: str = "", reason: str = "Error") -> dict[str, Any]:
    return {"exitCode": exit_code, "reason": reason, "message": message}


def condition(kind: str, status: str, message: str = "") -> dict[str, str]:
    return {"type": kind, "status": status, "message": message}


@pytest.mark.parametrize(
    ("phase", "proxy", "lingers"),
    [("Running", {"running": {}}, True), ("Running", {"terminated": terminated(0)}, False), ("Running", {}, False)],
)
def test_a_program_that_has_ended_leaves_its_pod_running_for_a_moment_or_for_a_sidecar(
    phase: str,
    proxy: dict[str, Any],
    lingers: bool,  # noqa: FBT001  a table's column
) -> None:
    statuses = [container("proxy", **proxy), container(terminated=terminated(0))]

    assert Pod.parse(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses)).lingers is lingers
    assert not Pod.parse(raw_pod(phase=phase, containerStatuses=statuses[1:])).lingers


def test_a_pod_that_was_just_created_has_no_status_yet() -> None:
    pod = Pod.parse({key: value for key, value in raw_pod().items() if key != "status"})

    assert (pod.phase, pod.ready, pod.active, pod.ending) == ("Pending", False, True, None)


def test_a_pod_knows_its_replica_and_attempt() -> None:
    pod = Pod.parse(raw_pod(labels={"role": "worker", "index": "1", "attempt": "3"}))

    assert (pod.replica, pod.attempt) == (ReplicaId(Role.WORKER, 1), 3)


@pytest.mark.parametrize("labels", [{}, {"attempt": "many"}, {"attempt": "-1"}, {"attempt": "²"}])
def test_a_pod_with_nonsense_for_an_attempt_belongs_to_none(labels: dict[str, str]) -> None:
    assert Pod.parse(raw_pod(labels=labels)).attempt == 0


def test_a_pod_without_a_role_is_no_replica() -> None:
    assert Pod.parse(raw_pod(labels={"index": "1"})).replica is None


def test_a_pod_of_the_inference_job_is_no_replica() -> None:
    pod = Pod.parse(raw_pod(labels={"inference": "a1b2"}))

    assert (pod.replica, pod.attempt) == (None, 0)


def test_a_ready_pod_can_be_asked_for_its_progress() -> None:
    pod = Pod.parse(raw_pod(phase="Running", podIP="10.0.0.7", conditions=[condition("Ready", "True")]))

    assert (pod.ready, pod.address) == (True, "10.0.0.7")


@pytest.mark.parametrize(
    ("ready", "containers", "missed"),
    [("True", "True", False), ("False", "False", False), ("False", "True", True)],
)
def test_a_pod_is_missed_where_only_its_node_calls_its_containers_ready(
    ready: str,
    containers: str,
    missed: bool,  # noqa: FBT001  a table's column
) -> None:
    conditions = [condition("Ready", ready), condition("ContainersReady", containers)]

    assert Pod.parse(raw_pod(phase="Running", conditions=conditions)).missed is missed


@pytest.mark.parametrize("kind", ["DisruptionTarget", "TerminationTarget"])
def test_kubernetes_and_kueue_say_of_a_pod_that_they_take_it_away(kind: str) -> None:
    statuses = [container(terminated=terminated(1))]
    pod = Pod.parse(raw_pod(phase="Failed", conditions=[condition(kind, "True")], containerStatuses=statuses))

    assert (pod.taken_away, pod.retryable) == (True, True)


def test_the_training_container_decides_how_a_pod_ended() -> None:
    ended = [container("proxy", terminated=terminated(1)), container(terminated=terminated(75, " peer died\n"))]

    pod = Pod.parse(raw_pod(sidecar=True, phase="Failed", containerStatuses=ended))

    assert pod.ending is not None
    assert (pod.ending.exit_code, pod.ending.text, pod.retryable) == (75, "peer died", True)


@pytest.mark.parametrize(
    ("phase", "trainer", "proxy", "end"),
    [
        ("Running", {"terminated": terminated(0)}, {"running": {}}, "succeeded"),
        ("Failed", {"terminated": terminated(0)}, {"terminated": terminated(1)}, "succeeded"),
        ("Pending", {"terminated": terminated(0)}, {"waiting": {"reason": "ErrImagePull"}}, "succeeded"),
        ("Running", {"terminated": terminated(3)}, {"running": {}}, "failed"),
        ("Failed", {"terminated": terminated(3)}, {"terminated": terminated(0)}, "failed"),
        ("Running", {"running": {}}, {"terminated": terminated(1)}, "running"),
        ("Running", {"running": {}}, {"terminated": terminated(0)}, "running"),
        ("Failed", {"running": {}}, {"running": {}}, "failed"),
        ("Succeeded", {}, {}, "succeeded"),
    ],
)
def test_a_sidecar_decides_nothing(phase: str, trainer: dict[str, Any], proxy: dict[str, Any], end: str) -> None:
    statuses = [container("proxy", **proxy), container(**trainer)]

    pod = Pod.parse(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses))

    assert [name for name in ("running", "succeeded", "failed") if getattr(pod, name)] == [end]


@pytest.mark.parametrize(("phase", "active"), [("Running", True), ("Failed", False)])
def test_a_pod_whose_sidecar_runs_on_still_uses_its_machine(phase: str, active: bool) -> None:  # noqa: FBT001  a table's column
    statuses = [container("proxy", running={}), container(terminated=terminated(0))]

    pod = Pod.parse(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses))

    assert (pod.active, pod.stopped) == (active, not active)


def test_it_is_known_when_a_pod_ended_if_its_node_says_so() -> None:
    ended = [{**terminated(75), "finishedAt": "2030-01-01T12:00:00Z"}, terminated(75)]

    pods = [Pod.parse(raw_pod(phase="Failed", containerStatuses=[container(terminated=each)])) for each in ended]

    assert [pod.ending and pod.ending.time for pod in pods] == [datetime(2030, 1, 1, 12, tzinfo=UTC), None]


def test_an_eviction_has_no_exit_code_and_the_kubelets_word() -> None:
    pod = Pod.parse(raw_pod(phase="Failed", reason="Evicted", message="The node was low on memory"))

    assert pod.ending is not None
    assert (pod.ending.exit_code, pod.ending.reason) == (None, "Evicted")
    assert pod.last_words == "The node was low on memory"
    assert pod.retryable


def failed_init(exit_code: int, says: str = "", *, restarts: str | None = None, **status: Any) -> Pod:
    """A pod whose init container `download` ended; its program never ran."""
    raw = raw_pod(
        phase="Failed",
        initContainerStatuses=[
            container("first", terminated=terminated(0)),
            container("download", terminated=terminated(exit_code, says)),
        ],
        containerStatuses=[container(waiting={"reason": "PodInitializing"})],
        **status,
    )
    own = {"restartPolicy": restarts} if restarts else {}
    raw["spec"]["initContainers"] = [{"name": "first"}, {"name": "download", **own}]
    return Pod.parse(raw)


@pytest.mark.parametrize(("exit_code", "again"), [(3, False), (127, False), (75, True), (139, True)])
def test_an_init_containers_exit_code_counts_by_the_contract(exit_code: int, again: bool) -> None:  # noqa: FBT001  a table's column
    pod = failed_init(exit_code, "no such bucket\n")

    assert (pod.failed, pod.retryable, pod.last_words) == (True, again, "no such bucket")


def test_an_init_container_that_failed_is_named() -> None:
    said = "qcnn-worker-1 ended (exit code 3 of its init container download): it left no message"

    assert described(failed_init(3)) == said


def test_an_eviction_for_its_own_appetite_keeps_the_kubelets_sentence_and_the_exit_code() -> None:
    why = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
    statuses = [container(terminated=terminated(137, "a line of its log"))]
    pod = Pod.parse(raw_pod(phase="Failed", reason="Evicted", message=why, containerStatuses=statuses))

    assert pod.ending == Ending(exit_code=137, reason="Evicted", text=why)
    assert pod.last_words == why.rstrip(".")
    assert not pod.taken_away


def test_what_the_kubelet_says_of_a_pod_is_no_word_on_a_program_that_ended_well() -> None:
    weights = TerminationMessage(weights=Weights(uri="gs://bucket/w", sha256="ab" * 32)).to_json()
    statuses = [container(terminated=terminated(0, weights, "Completed"))]
    pod = Pod.parse(raw_pod(phase="Failed", reason="DeadlineExceeded", message="too long", containerStatuses=statuses))

    assert pod.succeeded
    assert pod.message is not None
    assert pod.message.weights is not None


def test_escape_sequences_of_a_program_are_no_last_words() -> None:
    log = "\x1b[31mTraceback\x1b[0m\n\x1b]0;owned\x07ValueError: \x1b[1mno\x1b[0m\x08 such file"
    pod = Pod.parse(raw_pod(phase="Failed", containerStatuses=[container(terminated=terminated(1, log))]))

    assert pod.last_words == "ValueError: no such file"


def test_an_eviction_during_initialization_is_no_exit_code_of_an_init_container() -> None:
    pod = failed_init(3, reason="Evicted", message="The node was low on memory")

    assert pod.ending == Ending(exit_code=None, reason="Evicted", text="The node was low on memory")


def test_the_end_of_a_native_sidecar_is_no_init_containers_failure() -> None:
    assert failed_init(3, restarts="Always").ending == Ending(exit_code=None, reason="Failed", text="")


def test_an_end_is_told_in_the_kubelets_words_and_where_it_has_none_in_ours() -> None:
    killed = Pod.parse(raw_pod(containerStatuses=[container(terminated=terminated(137, reason="OOMKilled"))]))
    silent = Pod.parse(raw_pod(containerStatuses=[container(terminated={"exitCode": 1})]))
    lost = Pod.parse(raw_pod(phase="Failed"))

    assert killed.ending == Ending(exit_code=137, reason="OOMKilled", text="")
    assert silent.ending == Ending(exit_code=1, reason="Error", text="")
    assert lost.ending == Ending(exit_code=None, reason="Failed", text="")


def test_a_pod_that_is_about_to_be_preempted_says_so() -> None:
    assert Pod.parse(raw_pod(conditions=[condition("DisruptionTarget", "True")])).disrupted
    assert not Pod.parse(raw_pod(conditions=[condition("DisruptionTarget", "False")])).disrupted


def test_a_pod_that_no_node_takes_has_the_schedulers_words() -> None:
    said = "0/3 nodes are available: 3 Insufficient cpu."

    assert Pod.parse(raw_pod(conditions=[condition("PodScheduled", "False", said)])).unscheduled == said
    assert Pod.parse(raw_pod(conditions=[condition("PodScheduled", "True")])).unscheduled is None


def test_a_container_that_cannot_start_is_named_with_its_own_image() -> None:
    statuses = [
        container("proxy", image="typo:1", waiting={"reason": "ErrImagePull", "message": "not found"}),
        container(running={}),
    ]

    waiting = Pod.parse(raw_pod(sidecar=True, phase="Pending", containerStatuses=statuses)).waiting

    assert waiting is not None
    assert (waiting.image, waiting.reason, waiting.message) == ("typo:1", "ErrImagePull", "not found")


def test_an_init_container_that_cannot_start_comes_first_for_the_others_wait_for_it() -> None:
    pod = Pod.parse(
        raw_pod(
            initContainerStatuses=[container("data", image="data:1", waiting={"reason": "ImagePullBackOff"})],
            containerStatuses=[container(waiting={"reason": "PodInitializing"})],
        )
    )

    assert pod.waiting is not None
    assert pod.waiting.image == "data:1"


def test_a_container_of_which_little_is_known_may_wait_all_the_same() -> None:
    statuses = [{"name": "proxy"}, {"name": "trainer", "state": {"waiting": {"reason": "CrashLoopBackOff"}}}]

    waiting = Pod.parse(raw_pod(sidecar=True, containerStatuses=statuses)).waiting

    assert waiting == Waiting(image="", reason="CrashLoopBackOff", message="")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "it left no message"),
        ("Traceback:\n  line 3\nno bucket.\n\n", "no bucket"),
        ('{"error": "no bucket"}', "no bucket"),
        ('{"metrics": {}}', '{"metrics": {}}'),
    ],
)
def test_the_last_words_are_one_line(text: str, words: str) -> None:
    pod = Pod.parse(raw_pod(phase="Failed", containerStatuses=[container(terminated=terminated(1, text))]))

    assert pod.last_words == words


def test_the_termination_message_is_read_by_the_contract() -> None:
    weights = Weights(uri="gs://b/w", sha256="ab" * 32)
    ended = terminated(0, TerminationMessage(weights=weights).to_json(), "Completed")

    pod = Pod.parse(raw_pod(phase="Succeeded", containerStatuses=[container(terminated=ended)]))

    assert pod.message == TerminationMessage(weights=weights)


def test_an_inference_job_is_done_only_when_its_condition_is_true() -> None:
    raw = {
        "metadata": {
            "name": "qcnn-inference",
            "uid": "u",
            "resourceVersion": "7",
            "creationTimestamp": "2030-01-01T12:00:00Z",
            "labels": {"quantumtraining.dev/inference": "a1"},
        },
        "status": {"conditions": [condition("Complete", "False"), condition("Failed", "True")]},
    }

    found = InferenceRun.parse(raw, ())

    assert (found.uid, found.run) == ("u", "a1")
    assert found.created == datetime(2030, 1, 1, 12, tzinfo=UTC)
    assert (found.complete, found.failed, found.deleting) == (False, True, False)
    assert found.result is None


def test_of_pods_that_failed_the_one_that_did_for_good_is_the_result() -> None:
    pods = pods_of({"worker-0": {"exit_code": 137}, "worker-1": {"exit_code": 3}})

    assert InferenceRun.parse(RAW_JOB, pods).result == pods[1]


META = {"name": "qcnn-inference", "uid": "u", "resourceVersion": "7", "creationTimestamp": "2030-01-01T12:00:00Z"}
RAW_JOB = {"metadata": META}


@pytest.mark.parametrize(
    ("how", "done", "given_up"),
    [
        ({"exit_code": 0, "sidecar": True}, True, False),
        ({"exit_code": 0, "sidecar": True, "deleting": True}, False, False),
        ({"exit_code": 3, "sidecar": True}, False, True),
        ({"exit_code": 137, "sidecar": True}, False, False),
        ({"exit_code": 0}, False, False),
        ({"exit_code": 3}, False, False),
        ({"ready": True}, False, False),
    ],
)
def test_the_program_speaks_for_a_job_only_where_a_sidecar_keeps_it_from_its_end(
    how: dict[str, Any],
    done: bool,  # noqa: FBT001  a table's column
    given_up: bool,  # noqa: FBT001
) -> None:
    found = InferenceRun.parse(RAW_JOB, pods_of({"worker-0": how}))

    assert (found.done, found.given_up) == (done, given_up)


def test_an_inference_job_that_lost_its_labels_is_another_run_than_any_that_is_wanted() -> None:
    meta = {
        "name": "qcnn-inference",
        "uid": "u",
        "resourceVersion": "1",
        "creationTimestamp": "2030-01-01T12:00:00Z",
    }
    unlabelled = {"metadata": {**meta, "deletionTimestamp": "2030-01-01T12:00:00Z"}}
    relabelled = {"metadata": {**meta, "labels": {"team": "a"}}}

    assert InferenceRun.parse(unlabelled, ()).run == InferenceRun.parse(relabelled, ()).run == ""
    assert InferenceRun.parse(unlabelled, ()).deleting


def test_an_object_belongs_to_its_controller_alone() -> None:
    owners = [{"uid": "a", "controller": True}, {"uid": "b"}]

    assert is_controlled_by({"metadata": {"ownerReferences": owners}}, "a")
    assert not is_controlled_by({"metadata": {"ownerReferences": owners}}, "b")
    assert not is_controlled_by({"metadata": {"ownerReferences": None}}, "a")
    assert not is_controlled_by({"metadata": {}}, "a")


def test_a_leader_of_an_earlier_attempt_does_not_lead() -> None:
    world = running_job(attempt=2).with_pod("worker-0", attempt=1, ready=True)

    assert world.leader is None
    assert [pod.name for pod in world.superseded] == ["qcnn-worker-0"]


def test_a_pod_that_is_being_deleted_knows_until_when_its_node_has_time() -> None:
    raw = raw_pod(phase="Running")
    raw["metadata"]["deletionTimestamp"] = "2030-01-01T12:00:30Z"

    pod = Pod.parse(raw)

    assert (pod.deadline, pod.deleting, pod.active) == (later(seconds=30), True, False)


def test_a_pod_knows_its_node_once_it_has_one() -> None:
    raw = raw_pod()
    raw["spec"]["nodeName"] = "node-7"

    assert (Pod.parse(raw).node, Pod.parse(raw_pod()).node) == ("node-7", None)


@pytest.mark.parametrize(
    ("how", "taken"),
    [
        ({"exit_code": 143}, False),
        ({"exit_code": 143, "deleting": True}, True),
        ({"exit_code": 137, "deleting": True}, True),
        ({"exit_code": 0, "deleting": True}, True),
        ({"reason": "NodeLost", "deleting": True}, True),
        ({"ready": True, "deleting": True}, True),
        ({"ready": True}, False),
        ({"exit_code": 137, "reason": "OOMKilled", "deleting": True}, False),
        ({"exit_code": 1, "deleting": True}, False),
        ({"exit_code": 1, "disrupted": True}, True),
    ],
)
def test_a_pod_was_taken_away_when_it_ended_as_that_makes_a_pod_end(how: dict[str, Any], taken: bool) -> None:  # noqa: FBT001  a table's column
    (pod,) = pods_of({"worker-0": how})

    assert pod.taken_away == taken


def test_the_gang_and_those_that_stand_alone_are_all_there_are() -> None:
    world = running_job(**parameter_servers(evaluator=True))

    assert [pod.name for pod in world.gang] == ["qcnn-chief-0", "qcnn-ps-0"]
    assert [pod.name for pod in world.loners] == ["qcnn-evaluator-0", "qcnn-worker-0", "qcnn-worker-1"]


def test_a_program_that_ran_out_of_memory_has_the_limit_as_its_last_word() -> None:
    (pod,) = pods_of({"worker-0": {"exit_code": 137, "reason": "OOMKilled", "says": "epoch 3 of 25"}})

    assert pod.last_words == (
        "it needed more memory than resources.limits.memory allows: raise that, or lower the batch, the qubits or the "
        "filters"
    )


def test_finalizers_of_a_pod_are_those_of_its_metadata() -> None:
    raw = raw_pod()
    held = {**raw, "metadata": {**raw["metadata"], "finalizers": ["kueue.x-k8s.io/managed"]}}

    assert Pod.parse(held).finalizers == ("kueue.x-k8s.io/managed",)
    assert Pod.parse(raw).finalizers == ()
