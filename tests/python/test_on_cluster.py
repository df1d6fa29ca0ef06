"""A job on a cluster, from Python, with an API server that has one answer for each request."""

import asyncio
import hashlib
from pathlib import Path
from typing import Any

import pytest
import yaml

import qtj
from tests.cli.fake_api import JOBS, MAPS, FakeApi, use_kubeconfig
from tests.cli.good_job import GOOD

STORE = "pvc://results"
FORBIDDEN = 'configmaps is forbidden: User "me" cannot create resource "configmaps" in API group "" in the namespace'


def job_of(api: FakeApi, name: str = "train") -> dict[str, Any]:
    return api.objects[JOBS, name]


def test_a_program_is_sent_as_the_command_does(api: FakeApi, caplog: pytest.LogCaptureFixture) -> None:
    run = qtj.Job.from_program("train.py", ["--seed", 1], workers=2, memory="3Gi").submit(artifacts=STORE)

    (config, job) = api.names
    spec = job_of(api)["spec"]
    container = spec["template"]["spec"]["containers"][0]
    assert (config[0], job) == (MAPS, (JOBS, "train"))
    assert (container["args"], container["resources"]["limits"]) == (["--seed", "1"], {"memory": "3Gi"})
    assert spec["replicaSpecs"]["Worker"]["replicas"] == 2
    assert (run.name, run.phase, run.status["namespace"]) == ("train", "Pending", "lab")
    assert f"the ConfigMap {config[1]} has layers.py, train.py" in caplog.messages


def test_a_function_is_sent_and_leaves_no_file(api: FakeApi, tmp_path: Path) -> None:
    def train_net(epochs: int) -> None:
        print(epochs)

    before = sorted(tmp_path.iterdir())
    qtj.Job.from_function(train_net, {"epochs": 2}, name="net").submit(artifacts=STORE, namespace="research")

    (config, _) = api.names
    assert job_of(api, "net")["metadata"]["namespace"] == "research"
    assert "train_net(epochs=2)" in api.objects[config]["data"]["train_net.py"]
    assert sorted(tmp_path.iterdir()) == before


def test_a_file_is_sent_as_it_is(api: FakeApi) -> None:
    Path("job.yaml").write_text(GOOD)

    qtj.Job.from_file("job.yaml").submit(namespace="lab")

    assert job_of(api, "qcnn")["spec"] == yaml.safe_load(GOOD)["spec"]


def test_it_works_where_an_event_loop_runs(api: FakeApi) -> None:
    async def cell() -> str:
        return qtj.Job.from_program("train.py").submit(artifacts=STORE).phase

    assert asyncio.run(cell()) == "Pending"
    assert api.names


def test_a_job_is_changed_by_its_handle(api: FakeApi) -> None:
    run = qtj.Job.from_program("train.py").submit(artifacts=STORE)

    assert run.suspend().startswith("train is suspended: its pods end, and `qtj resume train -n lab` continues it")
    assert job_of(api)["spec"]["suspend"] is True
    assert run.resume() == "train is resumed: it continues from its last checkpoint"
    assert job_of(api)["spec"]["suspend"] is False
    assert run.delete().startswith("train is deleted, with its pods")
    with pytest.raises(
        qtj.InputError, match=r"^there is no job train in namespace lab: `kubectl get qtj -A` lists all$"
    ):
        run.wait()


def test_what_it_has_stored_is_read_by_the_rights_of_the_user(api: FakeApi, tmp_path: Path) -> None:
    run = qtj.Job.from_program("train.py").submit(artifacts=STORE)
    weights = tmp_path / "1.npz"
    weights.write_bytes(b"numbers")
    digest = hashlib.sha256(b"numbers").hexdigest()
    status = {"phase": "Complete", "weights": {"uri": weights.as_uri(), "sha256": digest}}
    job_of(api)["status"] = status

    assert run.wait(5).weights().data == b"numbers"
    weights.write_bytes(b"others")
    with pytest.raises(qtj.InputError, match=r"has other weights than those of train: somebody has replaced the file$"):
        run.weights()
    weights.unlink()
    with pytest.raises(qtj.InputError, match=r"^the weights are not on this machine: file:///.* is on a volume of the"):
        run.weights()
    with pytest.raises(qtj.InputError, match=r"^train has no predictions: they come at the end of its inference$"):
        run.predictions()


def test_a_failed_job_is_the_sentence_of_its_status(api: FakeApi) -> None:
    run = qtj.Job.from_program("train.py").submit(artifacts=STORE)
    failed = {"type": "Failed", "status": "True", "reason": "Broken", "message": "worker-0 raised ValueError"}
    job_of(api)["status"] = {
        "phase": "Failed",
        "conditions": [{**failed, "lastTransitionTime": "2030-01-01T12:00:00Z"}],
    }

    with pytest.raises(qtj.JobFailedError, match=r"^train is Failed: worker-0 raised ValueError$"):
        run.wait(5)


def test_a_time_that_is_over_is_a_timeout(api: FakeApi) -> None:
    run = qtj.Job.from_program("train.py").submit(artifacts=STORE)

    with pytest.raises(TimeoutError, match=r"^train has not finished within 0\.2 s: it goes on$"):
        run.wait(0.2)
    assert api.names


def test_a_missing_right_is_the_sentence_of_the_command_and_leaves_nothing(api: FakeApi) -> None:
    api.refusals["POST", MAPS, True] = (403, FORBIDDEN)

    with pytest.raises(qtj.InputError) as told:
        qtj.Job.from_program("train.py").submit(artifacts=STORE)

    assert str(told.value) == f"train cannot be submitted: {FORBIDDEN}"
    assert api.names == []


@pytest.mark.parametrize(
    ("path", "artifacts", "sentence"),
    [
        ("train.py", None, "--artifacts is missing: write gs://BUCKET/PATH, or pvc://CLAIM for a volume of all pods"),
        ("lost.py", STORE, "lost.py: there is no such file"),
    ],
)
def test_a_mistake_asks_no_cluster(api: FakeApi, path: str, artifacts: str | None, sentence: str) -> None:
    with pytest.raises(qtj.InputError) as told:
        qtj.Job.from_program(path).submit(artifacts=artifacts)

    assert str(told.value) == sentence
    assert api.asked == []


def test_a_cluster_that_does_not_answer_is_one_sentence(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = (tmp_path / "kubeconfig").read_text()
    address = yaml.safe_load(text)["clusters"][0]["cluster"]["server"]
    (tmp_path / "nobody").write_text(text.replace(address, "http://127.0.0.1:1"))
    use_kubeconfig(monkeypatch, tmp_path / "nobody")

    with pytest.raises(qtj.InputError, match=r"127\.0\.0\.1:1"):
        qtj.Handle.on_cluster("train")
    assert api.asked == []
