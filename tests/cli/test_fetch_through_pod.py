"""`qtj fetch --through-pod`: results of a job by the rights of the job. The commands in the pod are real processes."""

from pathlib import Path
from typing import Any

import pytest

from qtj.report.fetch import reader_pod, reading_through_pod
from qtj.terminal.errors import InputError
from tests.cli.fake_api import JOBS, PODS, FakeApi, bucket_with
from tests.cli.qtj import qtj
from tests.cli.test_fetch import STORED, WEIGHTS
from tests.local.laptop import toy_job

COMPLETE = {"phase": "Complete", "attempt": 1, "weights": WEIGHTS}


@pytest.fixture
def api(api: FakeApi) -> FakeApi:
    api.objects[JOBS, "toy"] = job()
    return api


def job(status: dict[str, Any] | None = None, **pod: Any) -> dict[str, Any]:
    """A job of the cluster, with more fields of its pods."""
    meta = {"name": "toy", "namespace": "lab", "uid": "1", "creationTimestamp": "2030-01-01T12:00:00Z"}
    made = {**toy_job(), "metadata": meta, "status": status or COMPLETE}
    made["spec"]["template"]["spec"] |= pod
    return made


def test_results_come_home_and_the_pod_is_removed(api: FakeApi) -> None:
    with bucket_with(STORED):
        answer = qtj("fetch", "toy", "--through-pod", "--to", "home")

    assert (answer.code, answer.errors) == (0, "")
    assert [line.partition(":")[0] for line in answer.output.splitlines()] == [
        *("weights", "predictions", "record", "report"),
    ]
    assert Path("home/1.h5").read_bytes() == b"numbers"
    assert api.asked == [("POST", PODS, False), ("DELETE", PODS, False)]
    assert api.names == [(JOBS, "toy")]


def test_what_is_on_a_volume_of_the_pods_is_read_and_a_large_file_in_pieces(api: FakeApi, tmp_path: Path) -> None:
    stored = tmp_path / "of a volume" / "1.npz"
    stored.parent.mkdir()
    stored.write_bytes(bytes(range(256)) * 4000)
    api.objects[JOBS, "toy"] = job({"phase": "Complete", "weights": {"uri": stored.as_uri()}})

    assert qtj("fetch", "toy", "--through-pod").code == 0

    assert Path("toy-results/1.npz").read_bytes() == stored.read_bytes()


def test_the_pod_is_that_of_a_replica_without_what_only_a_training_needs() -> None:
    volume, mount = {"name": "results", "persistentVolumeClaim": {"claimName": "r"}}, {"name": "results"}
    made = job(serviceAccountName="trainer", volumes=[volume], initContainers=[{"name": "load", "image": "load:1"}])
    container = made["spec"]["template"]["spec"]["containers"][0]
    container |= {
        "env": [{"name": "TOKEN", "value": "x"}],
        "volumeMounts": [{**mount, "mountPath": "/results"}],
        "resources": {"limits": {"nvidia.com/gpu": 1}},
        "livenessProbe": {"exec": {"command": ["true"]}},
    }
    made["spec"]["template"]["spec"]["containers"].append({"name": "sidecar", "image": "sidecar:1"})

    pod = reader_pod(made, "toy-fetch-1")
    (reader,), spec = pod["spec"]["containers"], pod["spec"]

    assert pod["metadata"]["ownerReferences"][0]["uid"] == "1"
    assert "labels" not in pod["metadata"], "it is no replica"
    assert (spec["serviceAccountName"], spec["volumes"], spec["restartPolicy"]) == ("trainer", [volume], "Never")
    assert (spec["activeDeadlineSeconds"], "initContainers" in spec) == (600, False)
    assert spec["securityContext"]["runAsNonRoot"] is True
    assert (reader["image"], reader["command"][0]) == ("toy:1", "python")
    assert {"name": "TOKEN", "value": "x"} in reader["env"]
    assert reader["volumeMounts"] == [{**mount, "mountPath": "/results"}]
    assert not {"livenessProbe", "args", "ports"} & set(reader)
    assert "nvidia.com/gpu" not in reader["resources"]["limits"]


@pytest.mark.parametrize(
    ("refusal", "message", "sentence"),
    [
        (
            ("GET", "exec", False),
            "",
            "you may not run a command in toy-fetch-x: that takes get and create on pods/exec in lab",
        ),
        (
            ("POST", PODS, False),
            'User "me" cannot create resource "pods" in the namespace "lab"',
            'no pod can read what toy has stored: User "me" cannot create resource "pods" in the namespace "lab"',
        ),
    ],
)
def test_a_missing_right_is_one_sentence_and_leaves_nothing(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, refusal: tuple[str, str, bool], message: str, sentence: str
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "x")
    api.refusals[refusal] = (403, message)

    answer = qtj("fetch", "toy", "--through-pod")

    assert (answer.code, answer.sentences) == (2, [sentence])
    assert api.names == [(JOBS, "toy")]
    assert not Path("toy-results").exists()


def test_what_the_account_of_the_job_may_not_read_is_one_sentence(api: FakeApi) -> None:
    with bucket_with({"/lab/o/toy/weights/1.h5": (403, b"no right to storage.objects.get")}):
        answer = qtj("fetch", "toy", "--through-pod")

    assert answer.code == 2
    assert answer.errors.startswith(
        "qtj: gs://lab/toy/weights/1.h5 cannot be read by the service account of the job (403 "
    )
    assert api.names == [(JOBS, "toy")]


def test_a_job_without_weights_starts_no_pod(api: FakeApi) -> None:
    api.objects[JOBS, "toy"] = job({"phase": "Running"})

    answer = qtj("fetch", "toy", "--through-pod")

    assert answer.sentences == ["toy has stored no weights yet: they come at the end of its training"]
    assert api.asked == []


@pytest.mark.parametrize(
    ("status", "sentence"),
    [
        (
            {"phase": "Pending", "conditions": [{"status": "False", "message": "0/3 nodes are available"}]},
            "the pod toy-fetch-x has not started within 0 s: 0/3 nodes are available",
        ),
        (
            {"phase": "Failed", "reason": "DeadlineExceeded"},
            "the pod toy-fetch-x has ended before it could read anything: DeadlineExceeded",
        ),
    ],
)
def test_a_pod_that_does_not_run_is_removed(
    api: FakeApi, monkeypatch: pytest.MonkeyPatch, status: dict[str, Any], sentence: str
) -> None:
    monkeypatch.setattr("secrets.token_hex", lambda _: "x")
    api.pod_status = status

    with pytest.raises(InputError) as told, reading_through_pod(api.objects[JOBS, "toy"], patience=0):
        pass

    assert str(told.value) == sentence
    assert api.names == [(JOBS, "toy")]


def test_ctrl_c_removes_the_pod(api: FakeApi) -> None:
    def interrupted() -> None:
        with reading_through_pod(api.objects[JOBS, "toy"]):
            assert len(api.names) == 2
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        interrupted()

    assert api.names == [(JOBS, "toy")]


def test_a_pod_that_cannot_be_removed_is_named_and_what_was_read_stays(api: FakeApi, tmp_path: Path) -> None:
    (tmp_path / "1.npz").write_bytes(b"numbers")
    api.objects[JOBS, "toy"] = job({"phase": "Complete", "weights": {"uri": (tmp_path / "1.npz").as_uri()}})
    api.refusals["DELETE", PODS, False] = (403, "pods is forbidden")

    answer = qtj("fetch", "toy", "--through-pod")

    assert answer.code == 0
    assert answer.errors.startswith("qtj: the pod toy-fetch-")
    assert "is left (pods is forbidden): `kubectl delete pod toy-fetch-" in answer.errors
    assert Path("toy-results/1.npz").exists()
