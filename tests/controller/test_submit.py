"""`qtj submit` and what changes a job, with a real API server.

The operator is not there, so nothing runs: what is tested is what an API server accepts, and that nothing is left.
"""

import json

import pytest
import yaml

from qtj.script.objects import config_map, metadata_of
from qtj.submit.send import Submission, send
from qtj_operator.controller.client import ApiError
from tests.controller.api_objects import connected
from tests.controller.cluster_jobs import Place
from tests.jobs import job_object

FILES = {"train.py": b"print()"}


def submission(namespace: str, **spec: object) -> Submission:
    """A job and a ConfigMap with a program."""
    job = job_object(name="train", namespace=namespace, **spec)
    del job["metadata"]["uid"]
    return Submission(job, config_map(metadata_of("train", namespace), FILES))


async def sent(place: Place, one: Submission) -> None:
    client = connected(place.server.url, place.server.token)
    try:
        await send(client, one, dry_run=False)
    finally:
        await client.close()


async def test_the_job_owns_its_config_map(place: Place) -> None:
    await sent(place, submission(place.namespace))
    await sent(place, submission(place.namespace))  # the same again changes nothing

    job = place.server.get("qtj", "train", "-n", place.namespace)
    (found,) = [
        each
        for each in place.server.get("configmap", "-n", place.namespace)["items"]
        if each["metadata"]["name"].startswith("train-")
    ]
    (owner,) = found["metadata"]["ownerReferences"]
    assert (found["data"], found["immutable"]) == ({"train.py": "print()"}, True)
    assert (owner["kind"], owner["uid"]) == ("QuantumTrainingJob", job["metadata"]["uid"])


async def test_what_the_api_server_refuses_leaves_nothing(place: Place) -> None:
    wrong = submission(place.namespace)
    config = {**wrong.config_map, "data": {"a/b": ""}} if wrong.config_map else None

    for refused in (Submission({**wrong.job, "spec": {"unknown": 1}}, wrong.config_map), Submission(wrong.job, config)):
        with pytest.raises(ApiError):
            await sent(place, refused)

    assert place.server.names("qtj", place.namespace) == []
    assert not [each for each in place.server.names("configmap", place.namespace) if each.startswith("train")]


def test_a_file_is_submitted_suspended_resumed_and_deleted(place: Place) -> None:
    job = job_object(name="qcnn", namespace=place.namespace)
    del job["metadata"]["uid"]
    (place.home / "job.yaml").write_text(yaml.safe_dump(json.loads(json.dumps(job))))

    def spec() -> object:
        return place.server.get("qtj", "qcnn", "-n", place.namespace)["spec"].get("suspend")

    submitted = place.qtj("submit", "job.yaml")
    said = [(place.qtj(verb, "qcnn").returncode, spec()) for verb in ("suspend", "resume", "cancel")]
    deleted = place.qtj("delete", "qcnn")

    assert (submitted.returncode, submitted.stderr) == (0, "")
    assert submitted.stdout.startswith(f"qcnn is submitted to namespace {place.namespace}: `qtj status qcnn -n ")
    assert said == [(0, True), (0, False), (0, True)]
    assert (deleted.returncode, deleted.stderr) == (0, "")
    assert place.server.names("qtj", place.namespace) == []
