"""What may change between a run and the run that continues it: more epochs, another inference, other values."""

import hashlib
import json
from typing import Any

import pytest

from qtj.runs.resume_policy import is_resumable
from qtj_operator.api.conditions import ConditionType, is_true
from qtj_operator.api.reading import read_status
from tests.cli.earlier import Desk, refusal, start, with_args
from tests.local.laptop import toy_job

_TRAINED = {"type": "Trained", "status": "True", "reason": "x", "message": "y"}
TRAINED = {"conditions": [{**_TRAINED, "lastTransitionTime": "2026-01-01T00:00:00Z"}]}


@pytest.mark.parametrize(
    ("field", "before"),
    [
        ("strategy", toy_job(strategy="MultiWorkerMirrored")),
        ("circuit", toy_job(circuit={"qubits": 4})),
        ("artifacts", toy_job(artifacts={"uri": "gs://bucket/other"})),
        ("replicaSpecs", toy_job(replicaSpecs={"Chief": {}, "Worker": {"replicas": 2}})),
        ("template", toy_job(epochs=9)),
        ("managedBy", toy_job(managedBy="kueue.x-k8s.io/multikueue")),
    ],
)
def test_a_field_that_cannot_change_forbids_to_resume_and_is_named_with_its_line(
    desk: Desk, field: str, before: dict[str, Any]
) -> None:
    document = desk.written()

    sentence = refusal(document, desk.ended("Running", before))

    assert sentence == (
        f"{document.where(['spec', field])}: spec.{field}: it was changed since the run to continue: undo that, or "
        "train again with --fresh"
    )


@pytest.mark.parametrize("phase", ["Running", "Failed"])
def test_a_run_that_could_not_be_resumed_is_left_alone_and_the_note_tells_why(desk: Desk, phase: str) -> None:
    found = start(desk.written(), desk.ended(phase, toy_job(circuit={"qubits": 4})))

    assert found.earlier is None
    assert found.note == "starts over, because the spec has changed since toy/1, which stays as it is"


@pytest.mark.parametrize(("before", "now"), [(["--epochs=5"], ["--epochs=6"]), (["--epochs", "9"], ["--epochs", "10"])])
def test_more_epochs_are_no_other_training(desk: Desk, before: list[str], now: list[str]) -> None:
    earlier = desk.ended("Running", with_args("train", *before))

    found = start(desk.written(with_args("train", *now)), earlier, resume=True)

    assert found.earlier == earlier
    assert found.spec["template"]["spec"]["containers"][0]["args"] == ["train", *now]


def test_another_number_of_workers_is_no_other_training(desk: Desk) -> None:
    earlier = desk.ended("Running", toy_job(workers=3))

    assert start(desk.written(), earlier, resume=True).earlier == earlier
    assert start(desk.written(), earlier).note == (
        "starts over, because spec.replicaSpecs changed; toy/1 was interrupted, and --resume would continue it"
    )


@pytest.mark.parametrize(("before", "now"), [(["--epochs=5"], ["--epochs=4"]), (["--epochs", "10"], ["--epochs", "9"])])
def test_fewer_epochs_are_refused(desk: Desk, before: list[str], now: list[str]) -> None:
    sentence = refusal(desk.written(with_args("train", *now)), desk.ended("Running", with_args("train", *before)))

    assert "spec.template: it has fewer epochs than the run to continue: undo that, or" in sentence


def test_fewer_epochs_of_one_role_are_refused_though_another_has_more(desk: Desk) -> None:
    def roles(chief: int, worker: int) -> dict[str, Any]:
        template = toy_job()["spec"]["template"]

        def of(epochs: int) -> dict[str, Any]:
            [container] = template["spec"]["containers"]
            return {"template": {"spec": {"containers": [{**container, "args": [f"--epochs={epochs}"]}]}}}

        return toy_job(replicaSpecs={"Chief": of(chief), "Worker": {"replicas": 1, **of(worker)}})

    sentence = refusal(desk.written(roles(9, 4)), desk.ended("Running", roles(5, 5)))

    assert "spec.replicaSpecs: it has fewer epochs" in sentence


def test_more_epochs_of_one_role_alone_are_no_other_training(desk: Desk) -> None:
    before, now = (with_args("--epochs=5", "--", f"--epochs={more}") for more in (5, 9))

    assert start(desk.written(now), desk.ended("Running", before), resume=True).earlier


@pytest.mark.parametrize(
    ("before", "now"),
    [
        (["--epochs=5"], ["--epochs", "5"]),  # the same training, but that cannot be known of any program
        (["--epochs=5"], ["--epochs=6", "--rate=1"]),
        (["--epochs-of-warmup=5"], ["--epochs-of-warmup=6"]),
        (["--rate", "5"], ["--rate", "6"]),
        (["--epochs"], ["--rate"]),
    ],
)
def test_another_argument_is_another_training(desk: Desk, before: list[str], now: list[str]) -> None:
    sentence = refusal(desk.written(with_args(*now)), desk.ended("Running", with_args(*before)))

    assert "spec.template: it was changed since the run to continue" in sentence


@pytest.mark.parametrize("more", [["--epochs=9"], ["--epochs", "9"]])
@pytest.mark.parametrize("phase", ["Running", "Complete"])
def test_epochs_where_the_program_had_its_default_continue_it(desk: Desk, more: list[str], phase: str) -> None:
    done = {**TRAINED, "weights": {"uri": "file:///w"}} if phase == "Complete" else {}
    earlier = desk.ended(phase, with_args("--rate=1"), **done)

    assert start(desk.written(with_args("--rate=1", *more)), earlier, resume=True).earlier
    assert "it was changed" in refusal(desk.written(with_args("--rate=2", *more)), earlier)
    assert start(desk.written(with_args(*more)), desk.ended(phase, with_args(), **done), resume=True).earlier
    assert "it was changed" in refusal(desk.written(with_args("--rate=1", "--epochs")), earlier)


def test_fewer_epochs_than_the_default_of_the_program_has_trained_are_refused(desk: Desk) -> None:
    progress = {"epoch": 8, "epochs": 8, "loss": 0.5}
    earlier = desk.ended("Complete", with_args("--rate=1"), **TRAINED, progress=progress, weights={"uri": "file:///w"})

    assert "fewer epochs" in refusal(desk.written(with_args("--rate=1", "--epochs=3")), earlier)
    assert start(desk.written(with_args("--rate=1", "--epochs=9")), earlier, resume=True).earlier


def test_a_variable_for_the_number_of_epochs_counts_as_none(desk: Desk) -> None:
    def with_epochs(text: str) -> dict[str, Any]:
        return with_args(f"--epochs={text}")

    assert start(desk.written(with_epochs("3")), desk.ended("Running", with_epochs("$(EPOCHS)")), resume=True).earlier
    assert "fewer epochs" in refusal(desk.written(with_epochs("$(EPOCHS)")), desk.ended("Running", with_epochs("1")))


@pytest.mark.parametrize("phase", ["Complete", "Failed"])
def test_more_epochs_continue_a_training_that_is_done(desk: Desk, phase: str) -> None:
    earlier = desk.ended(phase, with_args("--epochs=3"), **TRAINED, attempt=2, weights={"uri": "file:///w"})

    found = start(desk.written(with_args("--epochs=9")), earlier, resume=True)

    assert found.note == "continues the finished training of toy/1"
    assert found.record
    status = read_status(found.record)
    assert (status.attempt, status.weights, is_true(status.conditions, ConditionType.TRAINED)) == (2, None, False)
    assert is_true(status.conditions, ConditionType.SUSPENDED)
    assert "retry" not in found.spec


def test_after_training_the_same_spec_continues_with_another_inference(desk: Desk) -> None:
    earlier = desk.ended("Failed", toy_job(inference={"args": ["infer", "--broken"]}), **TRAINED)

    found = start(desk.written(), earlier, resume=True)

    assert (found.earlier, found.spec["inference"]) == (earlier, {"args": ["infer"]})


def config(kind: str, **data: str) -> dict[str, Any]:
    field = {"ConfigMap": "data", "Secret": "stringData"}[kind]
    return {"apiVersion": "v1", "kind": kind, "metadata": {"name": "settings"}, field: data}


def configured(kind: str) -> dict[str, Any]:
    job = toy_job()
    source = {"ConfigMap": "configMapRef", "Secret": "secretRef"}[kind]
    job["spec"]["template"]["spec"]["containers"][0]["envFrom"] = [{source: {"name": "settings"}}]
    return job


@pytest.mark.parametrize("kind", ["ConfigMap", "Secret"])
def test_a_run_whose_values_changed_continues_only_when_asked(desk: Desk, kind: str) -> None:
    before = desk.written(configured(kind), config(kind, RATE="0.1")).configs
    earlier = desk.ended("Running", configured(kind), configs=before)
    document = desk.written(configured(kind), config(kind, RATE="0.2"))

    of_itself, asked = start(document, earlier), start(document, earlier, resume=True)

    assert of_itself.earlier is None
    assert f"starts over, because {kind} settings changed; toy/1 was interrupted" in of_itself.note
    assert asked.earlier == earlier
    assert asked.note == f"{kind} settings changed since toy/1, and its programs get the new values"


def test_the_digest_of_a_secret_needs_the_key_of_the_user(desk: Desk) -> None:
    plain = hashlib.sha256(json.dumps({"RATE": "0.1"}).encode()).hexdigest()[:16]

    of_map = desk.written(configured("ConfigMap"), config("ConfigMap", RATE="0.1")).configs
    of_secret = desk.written(configured("Secret"), config("Secret", RATE="0.1")).configs

    assert of_map["ConfigMap settings"] == plain
    assert of_secret["Secret settings"] != plain


def test_values_that_are_not_in_the_file_any_more_are_a_change(desk: Desk) -> None:
    before = desk.written(configured("ConfigMap"), config("ConfigMap", RATE="0.1")).configs
    earlier = desk.ended("Running", configured("ConfigMap"), configs=before)

    assert not is_resumable(desk.written(configured("ConfigMap")), earlier)


def test_a_run_whose_values_are_not_known_counts_as_unchanged(desk: Desk) -> None:
    document = desk.written(configured("ConfigMap"), config("ConfigMap", RATE="0.1"))

    assert is_resumable(document, desk.ended("Running", configured("ConfigMap"), configs=None))


def test_only_what_changed_of_several_values_is_named(desk: Desk) -> None:
    job = configured("ConfigMap")
    job["spec"]["template"]["spec"]["containers"][0]["envFrom"].append({"secretRef": {"name": "settings"}})
    secret, rate = config("Secret", TOKEN="x"), "ConfigMap settings"
    earlier = desk.ended("Running", job, configs=desk.written(job, config("ConfigMap", RATE="1"), secret).configs)

    note = start(desk.written(job, config("ConfigMap", RATE="2"), secret), earlier, resume=True).note

    assert note == f"{rate} changed since toy/1, and its programs get the new values"
