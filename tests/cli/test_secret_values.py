"""Values of variables that are secret by name are in no record, page or `-o json`, and a changed one is noticed."""

import hashlib
import json
import stat
from pathlib import Path
from typing import Any

import pytest

from qtj.local.hidden import keyed_digest, recorded, restored, shown
from qtj.report.job import job_content
from qtj.runs.resume_policy import is_resumable
from qtj_contract.secret_names import has_password, is_secret
from qtj_operator.api.status import Status
from tests.cli.earlier import Desk, start
from tests.cli.qtj import qtj
from tests.cli.recorded import make_run
from tests.cli.recorded import recorded as record_of
from tests.local.laptop import toy_job

SECRET = "hunter2-4f1c"
COPY = "kubectl.kubernetes.io/last-applied-configuration"


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state"


def with_env(value: str = SECRET, name: str = "WANDB_API_KEY") -> dict[str, Any]:
    job = toy_job()
    job["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": "SEED", "value": "7"},
        {"name": name, "value": value},
    ]
    return job


@pytest.mark.parametrize(
    "name",
    ["TOKEN", "HF_TOKEN", "wandb_api_key", "AWS_SECRET_ACCESS_KEY", "AWS_ACCESS_KEY_ID", "DB_PASSWORD", "PGPASSWORD",
     "CREDENTIALS", "SSH_PASSPHRASE", "DB_PWD", "APIKEY", "SECRETS"],
)  # fmt: skip
def test_these_names_say_that_the_value_is_secret(name: str) -> None:
    assert is_secret(name)


@pytest.mark.parametrize(
    "name",
    ["SEED", "KEYBOARD", "PWD", "GOOGLE_APPLICATION_CREDENTIALS", "TOKEN_FILE", "SECRET_NAME", "OMP_NUM_THREADS"],
)
def test_these_names_do_not(name: str) -> None:
    assert not is_secret(name)


WITH_PASSWORD = f"https://me:{SECRET}@pypi.example.com/simple"


@pytest.mark.parametrize("value", [WITH_PASSWORD, f"--index-url {WITH_PASSWORD}", f"http://:{SECRET}@proxy:3128"])
def test_an_address_with_a_password_is_in_no_record_and_no_page(value: str) -> None:
    job = with_env(value, "PIP_INDEX_URL")
    job["spec"]["program"] = {"configMap": "a", "entry": "a.py", "requirements": {"file": "r.txt", "index": value}}
    job["spec"]["template"]["spec"]["containers"][0]["args"] = [value]
    record = {**record_of(spec=job["spec"]), "kind": "QuantumTrainingJob"}

    assert SECRET not in json.dumps([recorded(record), shown(record)])
    assert restored(recorded(record), job["spec"])["spec"] == job["spec"], "a run goes on with the same file"


@pytest.mark.parametrize("value", ["https://example.com:8080/a@b", "http://mlflow:5000", "me:you@host", "a://b c:d@e"])
def test_an_address_without_a_password_stays(value: str) -> None:
    assert not has_password(value)


def test_a_record_has_neither_the_value_nor_a_digest_that_can_be_tried(folder: Path) -> None:
    job = with_env()
    job["spec"]["inference"]["template"] = job["spec"]["template"]
    run = make_run()

    run.save({**record_of(spec=job["spec"], specDigest="1f3c"), "kind": "QuantumTrainingJob"})

    text = (run.path / "job.json").read_text()
    assert SECRET not in text
    assert hashlib.sha256(SECRET.encode()).hexdigest()[:16] not in text
    assert hashlib.sha256(json.dumps(["WANDB_API_KEY", SECRET]).encode()).hexdigest()[:16] not in text
    assert "specDigest" not in text, "it covers the value, and has no key"
    assert '"value": "7"' in text


def test_a_copy_that_kubectl_keeps_is_not_recorded() -> None:
    job = record_of(spec=with_env()["spec"])
    job["metadata"]["annotations"] = {COPY: json.dumps(with_env()), "note": "mine"}

    assert SECRET not in json.dumps(recorded(job))
    assert recorded(job)["metadata"]["annotations"] == {"note": "mine"}


def test_a_record_without_secrets_is_recorded_as_it_is() -> None:
    job = record_of(specDigest="1f3c")

    assert recorded(job) == job


@pytest.mark.parametrize("words", [["list", "-o", "json"], ["status", "toy", "-o", "yaml"]])
def test_programs_do_not_get_the_value(folder: Path, words: list[str]) -> None:
    run = make_run(phase="Complete")
    record = record_of(spec=with_env()["spec"], phase="Complete")
    (run.path / "job.json").write_text(json.dumps(record))  # as an earlier version recorded it

    answer = qtj(*words)

    assert answer.code == 0, answer.errors
    assert SECRET not in answer.output
    assert "(not shown)" in answer.output


def test_a_page_has_the_yaml_of_the_job_without_the_value() -> None:
    job = record_of(spec=with_env()["spec"])

    repetition = job_content("toy", "Complete", "done", job, Status()).repetition

    assert repetition is not None
    assert SECRET not in repetition.text
    assert "name: WANDB_API_KEY\n          value: (not shown)" in repetition.text


def test_an_interrupted_run_with_the_same_value_continues(desk: Desk) -> None:
    earlier = desk.ended("Running", with_env())

    document = desk.written(with_env())

    assert is_resumable(document, earlier)
    assert start(document, earlier).spec == with_env()["spec"], "its programs get the value"


def test_a_changed_value_is_another_experiment(desk: Desk) -> None:
    earlier = desk.ended("Running", with_env())

    document = desk.written(with_env("hunter3-4f1c"))

    assert not is_resumable(document, earlier)
    assert "the spec has changed since toy/1" in start(document, earlier).note


def test_a_run_that_continues_has_its_values_again() -> None:
    job = record_of(spec=with_env()["spec"])
    assert restored(recorded(job), with_env()["spec"]) == job

    changed = restored(recorded(job), with_env("other")["spec"])
    assert changed["spec"]["template"] == recorded(job)["spec"]["template"]


def test_without_the_key_a_digest_says_nothing_and_counts_as_changed(
    home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    mine = keyed_digest(SECRET)
    monkeypatch.setenv("XDG_STATE_HOME", str(home / "of-another"))

    assert keyed_digest(SECRET) != mine
    assert stat.S_IMODE((home / "qtj/key").stat().st_mode) == 0o600
    assert [path.name for path in (home / "qtj").iterdir()] == ["key"]


def test_where_the_key_cannot_be_stored_nothing_fails(home: Path) -> None:
    home.write_text("no folder")

    assert keyed_digest(SECRET) == keyed_digest(SECRET)
