"""The record of a run's pods, as other commands read it."""

from pathlib import Path
from typing import Any

from qtj.local.pod_record import local_port_of, record_pod, recorded_pods
from qtj.local.store import Change
from qtj_operator.controller.client import Resource


def pod(name: str = "toy-worker-0", **status: Any) -> dict[str, Any]:
    container = {"name": "trainer", "image": "toy:1", "env": [{"name": "TOKEN", "value": "secret"}]}
    meta = {"name": name, "namespace": "default", "uid": "u", "resourceVersion": "7", "labels": {}}
    return {"metadata": meta, "spec": {"containers": [container], "nodeName": "here"}, "status": status}


def recorded(folder: Path, *pods: dict[str, Any]) -> None:
    for each in pods:
        record_pod(folder, Change("MODIFIED", Resource.PODS, 1, each))


def test_the_last_state_of_each_pod_is_read(tmp_path: Path) -> None:
    recorded(tmp_path, pod(phase="Pending"), pod("toy-worker-1", phase="Running"), pod(phase="Failed"))

    first, second = recorded_pods(tmp_path)

    assert (first["metadata"]["name"], first["status"]["phase"]) == ("toy-worker-0", "Failed")
    assert (second["metadata"]["name"], second["spec"]["nodeName"]) == ("toy-worker-1", "here")


def test_the_environment_of_a_program_is_not_recorded(tmp_path: Path) -> None:
    recorded(tmp_path, pod(phase="Running"))

    assert "secret" not in (tmp_path / "pods.jsonl").read_text()


def test_a_run_of_an_earlier_version_has_no_pods(tmp_path: Path) -> None:
    assert recorded_pods(tmp_path) == ()


def test_a_damaged_line_hides_no_other(tmp_path: Path) -> None:
    recorded(tmp_path, pod(phase="Running"))
    with (tmp_path / "pods.jsonl").open("a") as record:
        record.write('{"object": 7}\n{"object": {"metadata": {}}}\n' + "[" * 100_000 + "\nno JSON\n[]\n{")
    recorded(tmp_path, pod("toy-worker-1", phase="Running"))

    assert [each["metadata"]["name"] for each in recorded_pods(tmp_path)] == ["toy-worker-0", "toy-worker-1"]


def test_a_record_that_cannot_be_written_ends_nothing(tmp_path: Path) -> None:
    recorded(tmp_path / "no such folder", pod(phase="Running"))

    assert not (tmp_path / "no such folder").exists()


def test_the_port_of_this_machine_is_recorded_for_other_commands(tmp_path: Path) -> None:
    recorded(tmp_path, pod(phase="Pending"))
    (before,) = recorded_pods(tmp_path)
    record_pod(tmp_path, Change("MODIFIED", Resource.PODS, 1, pod(phase="Running")), {2224: 23456})
    (after,) = recorded_pods(tmp_path)

    assert local_port_of(before, 2224) is None
    assert local_port_of(after, 2224) == 23456
    assert local_port_of(after, 2223) is None
