"""Reading how a pod ended: its training container decides, before the pod's phase and the containers beside it."""

from datetime import UTC, datetime
from typing import Any

import pytest

from qtj_contract import TerminationMessage, Weights
from qtj_operator.controller.parse import parse_pod
from qtj_operator.core.failures import described
from qtj_operator.core.pod import Ending, Pod
from tests.controller.rawpods import container, raw_pod, terminated


def test_the_training_container_decides_how_a_pod_ended() -> None:
    ended = [container("proxy", terminated=terminated(1)), container(terminated=terminated(75, " peer died\n"))]

    pod = parse_pod(raw_pod(sidecar=True, phase="Failed", containerStatuses=ended))

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

    pod = parse_pod(raw_pod(sidecar=True, phase=phase, containerStatuses=statuses))

    assert [name for name in ("running", "succeeded", "failed") if getattr(pod, name)] == [end]


def test_it_is_known_when_a_pod_ended_if_its_node_says_so() -> None:
    ended = [{**terminated(75), "finishedAt": "2030-01-01T12:00:00Z"}, terminated(75)]

    pods = [parse_pod(raw_pod(phase="Failed", containerStatuses=[container(terminated=each)])) for each in ended]

    assert [pod.ending and pod.ending.time for pod in pods] == [datetime(2030, 1, 1, 12, tzinfo=UTC), None]


def test_an_eviction_has_no_exit_code_and_the_kubelets_word() -> None:
    pod = parse_pod(raw_pod(phase="Failed", reason="Evicted", message="The node was low on memory"))

    assert pod.ending is not None
    assert (pod.ending.exit_code, pod.ending.reason) == (None, "Evicted")
    assert pod.end_message == "The node was low on memory"
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
    return parse_pod(raw)


@pytest.mark.parametrize(("exit_code", "again"), [(3, False), (127, False), (75, True), (139, True)])
def test_an_init_containers_exit_code_counts_by_the_contract(exit_code: int, again: bool) -> None:
    pod = failed_init(exit_code, "no such bucket\n")

    assert (pod.failed, pod.retryable, pod.end_message) == (True, again, "no such bucket")


def test_an_init_container_that_failed_is_named() -> None:
    said = "qcnn-worker-1 ended (exit code 3 of its init container download): it left no message"

    assert described(failed_init(3)) == said


def test_an_eviction_for_its_own_appetite_keeps_the_kubelets_sentence_and_the_exit_code() -> None:
    why = "Pod ephemeral local storage usage exceeds the total limit of containers 1Gi."
    statuses = [container(terminated=terminated(137, "a line of its log"))]
    pod = parse_pod(raw_pod(phase="Failed", reason="Evicted", message=why, containerStatuses=statuses))

    assert pod.ending == Ending(exit_code=137, reason="Evicted", text=why, by_kubelet=True)
    assert pod.end_message == why.rstrip(".")
    assert not pod.taken_away


def test_what_the_kubelet_says_of_a_pod_is_no_word_on_a_program_that_ended_well() -> None:
    weights = TerminationMessage(weights=Weights(uri="gs://bucket/w", sha256="ab" * 32)).to_json()
    statuses = [container(terminated=terminated(0, weights, "Completed"))]
    pod = parse_pod(raw_pod(phase="Failed", reason="DeadlineExceeded", message="too long", containerStatuses=statuses))

    assert pod.succeeded
    assert pod.message is not None
    assert pod.message.weights is not None


def test_escape_sequences_of_a_program_are_no_end_message() -> None:
    log = "\x1b[31mTraceback\x1b[0m\n\x1b]0;owned\x07ValueError: \x1b[1mno\x1b[0m\x08 such file"
    pod = parse_pod(raw_pod(phase="Failed", containerStatuses=[container(terminated=terminated(1, log))]))

    assert pod.end_message == "ValueError: no such file"


def test_an_eviction_during_initialization_is_no_exit_code_of_an_init_container() -> None:
    pod = failed_init(3, reason="Evicted", message="The node was low on memory")

    assert pod.ending == Ending(exit_code=None, reason="Evicted", text="The node was low on memory", by_kubelet=True)


@pytest.mark.parametrize("policy", ["Never", "OnFailure"])
def test_an_init_container_with_another_restart_policy_is_no_sidecar(policy: str) -> None:
    ending = failed_init(3, restarts=policy).ending

    assert ending is not None
    assert (ending.exit_code, ending.init) == (3, "download")


def test_the_end_of_a_native_sidecar_is_no_init_containers_failure() -> None:
    assert failed_init(3, restarts="Always").ending == Ending(exit_code=None, reason="Failed", text="")


def test_an_end_is_told_in_the_kubelets_words_and_where_it_has_none_in_ours() -> None:
    oom = [container(terminated=terminated(137, reason="OOMKilled"))]
    killed = parse_pod(raw_pod(phase="Failed", containerStatuses=oom))
    silent = parse_pod(raw_pod(phase="Failed", containerStatuses=[container(terminated={"exitCode": 1})]))
    lost = parse_pod(raw_pod(phase="Failed"))

    assert killed.ending == Ending(exit_code=137, reason="OOMKilled", text="")
    assert silent.ending == Ending(exit_code=1, reason="Error", text="")
    assert lost.ending == Ending(exit_code=None, reason="Failed", text="")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "it left no message"),
        ("Traceback:\n  line 3\nno bucket.\n\n", "no bucket"),
        ('{"error": "no bucket"}', "no bucket"),
        ('{"metrics": {}}', '{"metrics": {}}'),
    ],
)
def test_the_end_message_is_one_line(text: str, message: str) -> None:
    pod = parse_pod(raw_pod(phase="Failed", containerStatuses=[container(terminated=terminated(1, text))]))

    assert pod.end_message == message


def test_the_termination_message_is_read_by_the_contract() -> None:
    weights = Weights(uri="gs://b/w", sha256="ab" * 32)
    ended = terminated(0, TerminationMessage(weights=weights).to_json(), "Completed")

    pod = parse_pod(raw_pod(phase="Succeeded", containerStatuses=[container(terminated=ended)]))

    assert pod.message == TerminationMessage(weights=weights)
