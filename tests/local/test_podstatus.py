"""The status of a pod, as the operator reads it."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from qtj.local.podstatus import conditions, ended, running


def pod(**container: Any) -> dict[str, Any]:
    main = {"name": "trainer", "image": "mine:1", **container}
    return {"spec": {"containers": [{"name": "log-shipper", "image": "other:1"}, main]}}


def is_now(time: str) -> bool:
    written = datetime.strptime(time, "%Y-%m-%dT%H:%M:%S%z")
    return abs(datetime.now(UTC) - written) < timedelta(minutes=5)


def test_a_pod_without_probes_is_ready_when_it_runs() -> None:
    status = running(pod())

    [container] = status["containerStatuses"]
    assert (status["phase"], status["podIP"], status["hostIP"]) == ("Running", "127.0.0.1", "127.0.0.1")
    assert status["conditions"] == conditions(ready=True)
    assert is_now(status["startTime"])
    assert container == {
        "name": "trainer",
        "image": "mine:1",
        "state": {"running": {"startedAt": status["startTime"]}},
        "ready": True,
        "restartCount": 0,
    }


@pytest.mark.parametrize("probe", ["readinessProbe", "startupProbe"])
def test_a_pod_with_such_a_probe_is_not_ready_before_the_probe_says_so(probe: str) -> None:
    status = running(pod(**{probe: {"exec": {"command": ["true"]}}}))

    assert status["conditions"] == conditions(ready=False)
    assert status["containerStatuses"][0]["ready"] is False


def test_a_liveness_probe_holds_up_nothing() -> None:
    assert running(pod(livenessProbe={"exec": {}}))["conditions"] == conditions(ready=True)


@pytest.mark.parametrize("is_ready", ["True", "False"])
def test_a_pod_here_has_a_node_and_is_initialized(is_ready: str) -> None:
    found = {each["type"]: each["status"] for each in conditions(ready=is_ready == "True")}

    assert found == {"PodScheduled": "True", "Initialized": "True", "ContainersReady": is_ready, "Ready": is_ready}


@pytest.mark.parametrize(
    ("code", "reason", "phase", "shown"),
    [
        (0, "Error", "Succeeded", "Completed"), (0, "OOMKilled", "Succeeded", "Completed"),
        (1, "Error", "Failed", "Error"), (137, "OOMKilled", "Failed", "OOMKilled"),
    ],
)  # fmt: skip
def test_an_exit_code_decides_how_a_pod_ended(code: int, reason: str, phase: str, shown: str) -> None:
    status = ended(pod(), code, "the last message", reason)

    [container] = status["containerStatuses"]
    terminated = container["state"]["terminated"]
    assert status["phase"] == phase
    assert status["conditions"] == conditions(ready=False)
    assert (terminated["exitCode"], terminated["reason"], terminated["message"]) == (code, shown, "the last message")
    assert is_now(terminated["finishedAt"])
    assert (container["name"], container["ready"]) == ("trainer", False)


def test_a_failure_is_an_error_unless_somebody_knows_better() -> None:
    assert ended(pod(), 3, "")["containerStatuses"][0]["state"]["terminated"]["reason"] == "Error"
