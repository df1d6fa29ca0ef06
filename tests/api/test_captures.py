"""Profiles that a job takes of itself: what a spec may ask for, and how it reaches a replica and comes back."""

from dataclasses import asdict
from typing import Any

import pytest

from qtj_contract import Capture, CaptureRecord, Env, Progress, TerminationMessage, Weights, parse_captures
from qtj_contract.captures import MOST_CAPTURES, seconds_of
from qtj_contract.progress_log import progress_line, read_progress
from qtj_operator.api.job import Job
from qtj_operator.api.reading import InvalidJob
from qtj_operator.manifests.pod import replica_pod
from tests.core.world import NOW
from tests.jobs import a_job, stored_job

RECORDS = (CaptureRecord("epoch-3", "Stored", "logs/qcnn/plugins/profile/epoch-3"), CaptureRecord("step-9", "Running"))
PROGRESS = Progress(epoch=3, loss=0.5, captures=RECORDS)

DURATION = "must be from 1ms to 60s, a whole number with the unit ms or s: write for example 2s"


def refusal(*captures: Any) -> str:
    with pytest.raises(InvalidJob) as refused:
        Job.parse(stored_job(profiler={"captures": list(captures)}))
    return str(refused.value)


def environment(**profiler: Any) -> dict[str, str]:
    """What worker 0 gets."""
    job = a_job(profiler=profiler)
    (container,) = replica_pod(job, job.leader, attempt=1)["spec"]["containers"]
    return {each["name"]: each["value"] for each in container["env"]}


@pytest.mark.parametrize(
    ("capture", "sentence"),
    [
        ({}, "spec.profiler.captures[0]: a capture starts by exactly one of epoch, step and elapsed"),
        ({"duration": "2s"}, "spec.profiler.captures[0]: a capture starts by exactly one of epoch, step and elapsed"),
        (
            {"epoch": 1, "step": 4},
            "spec.profiler.captures[0]: a capture starts by exactly one of epoch, step and elapsed",
        ),
        (
            {"epoch": 1, "steps": 4, "duration": "2s"},
            "spec.profiler.captures[0]: a capture takes steps or a duration: leave one of them out",
        ),
        (
            {"elapsed": "ten minutes"},
            "spec.profiler.captures[0].elapsed: must be a whole number with the unit s, m or h: write for example 10m",
        ),
        (
            {"elapsed": "10"},
            "spec.profiler.captures[0].elapsed: must be a whole number with the unit s, m or h: write for example 10m",
        ),
        (
            {"epoch": 1, "duration": "61s"},
            f"spec.profiler.captures[0].duration: {DURATION}",
        ),
        (
            {"epoch": 1, "duration": "99999999ms"},
            f"spec.profiler.captures[0].duration: {DURATION}",
        ),
        ({"epoch": 0}, "spec.profiler.captures[0].epoch: 0 is too small: this has to be at least 1"),
    ],
)
def test_a_capture_that_breaks_a_rule_is_refused_in_one_sentence(capture: dict[str, Any], sentence: str) -> None:
    assert refusal(capture) == sentence


@pytest.mark.parametrize("start", [{"epoch": 2}, {"step": 9}, {"elapsed": "10m"}], ids=["epoch", "step", "elapsed"])
def test_two_captures_with_one_start_are_refused(start: dict[str, Any]) -> None:
    """Both would be stored in one folder."""
    assert refusal({**start, "steps": 2}, {"epoch": 1}, {**start, "duration": "2s"}) == (
        "spec.profiler.captures: two captures have the same start, which names the folder of a profile: change one of"
        " them"
    )


def test_a_job_has_a_few_captures_only() -> None:
    assert "spec.profiler.captures" in refusal(*({"step": number} for number in range(1, MOST_CAPTURES + 2)))


@pytest.mark.parametrize("duration", ["1ms", "9999ms", "1s", "59s", "60s"])
def test_a_capture_may_take_a_minute(duration: str) -> None:
    assert environment(captures=[{"step": 1, "duration": duration}])[Env.PROFILER_CAPTURES]


def test_replicas_get_the_captures_of_their_job() -> None:
    written = environment(captures=[{"epoch": 3}, {"step": 40, "steps": 5}, {"elapsed": "10m", "duration": "2s"}])

    assert parse_captures(written[Env.PROFILER_CAPTURES]) == (
        Capture(epoch=3),
        Capture(step=40, steps=5),
        Capture(elapsed="10m", duration="2s"),
    )


@pytest.mark.parametrize("profiler", [{}, {"port": 6009}, {"captures": []}])
def test_a_job_without_captures_has_no_such_variable(profiler: dict[str, Any]) -> None:
    assert Env.PROFILER_CAPTURES not in environment(**profiler)


@pytest.mark.parametrize(
    "written",
    ["", "7", '{"epoch": 3}', "[7]", "[{}]", '[{"epoch": "3"}]', '[{"epoch": 0}]', '[{"step": 1, "elapsed": "2s"}]',
     '[{"elapsed": "soon"}]', '[{"step": 1, "duration": 2}]', '[{"step": 1, "colour": "red"}]'],
)  # fmt: skip
def test_a_variable_that_is_no_list_of_captures_is_refused(written: str) -> None:
    with pytest.raises(ValueError, match="is no list of captures"):
        parse_captures(written)


@pytest.mark.parametrize(("text", "seconds"), [("500ms", 0.5), ("2s", 2), ("10m", 600), ("1h", 3600)])
def test_durations_are_read(text: str, seconds: float) -> None:
    assert seconds_of(text) == seconds


@pytest.mark.parametrize(
    ("capture", "name"),
    [
        (Capture(epoch=3), "epoch-3"),
        (Capture(step=40, steps=2), "step-40"),
        (Capture(elapsed="10m", duration="2s"), "elapsed-10m"),
    ],
)
def test_a_capture_has_the_name_of_its_start(capture: Capture, name: str) -> None:
    assert capture.name == name


def test_captures_arrive_with_the_progress() -> None:
    assert Progress.parse(PROGRESS.to_json()) == PROGRESS
    assert "captures" not in Progress(epoch=3).to_dict()


@pytest.mark.parametrize(
    "record", [7, None, {}, {"name": "epoch-3"}, {"name": "epoch-3", "state": "Odd"}, {"state": "Stored"}]
)
def test_a_record_that_cannot_be_read_is_left_out(record: Any) -> None:
    progress = Progress.from_dict({"epoch": 3, "captures": [record, asdict(RECORDS[1])]})

    assert progress == Progress(epoch=3, captures=RECORDS[1:])


def test_what_is_reported_of_captures_is_bounded() -> None:
    long = CaptureRecord("n" * 999, "Stored", "p" * 999, "e" * 999)

    answer = Progress(epoch=3, captures=(long,) * 99).to_json()

    assert len(answer) < 4096, "the operator reads no more"
    assert len(Progress.parse(answer).captures) == MOST_CAPTURES  # type: ignore[union-attr]


def test_the_record_of_epochs_has_no_captures() -> None:
    line = progress_line(PROGRESS, 1, NOW)

    assert "captures" not in line
    assert read_progress(line).epochs[0].loss == 0.5


def test_weights_are_reported_even_if_there_is_no_room_for_captures() -> None:
    long = CaptureRecord("n" * 40, "Stored", "p" * 200, "e" * 120)
    weights = Weights(uri=f"gs://bucket/{'w' * 1000}", sha256="ab" * 32)
    sent = TerminationMessage(weights=weights, progress=Progress(epoch=3, captures=(long,) * MOST_CAPTURES))

    assert len(sent.to_json()) <= 4096
    received = TerminationMessage.parse(sent.to_json())
    assert received is not None
    assert (received.weights, received.progress) == (weights, Progress(epoch=3))
