"""`qtj profile`: which step is chosen, who is asked, and each reason for which there is no profile."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import pytest

from qtj.local.http import Answer
from qtj.profile.take import Length, NoAnswerError, take_profile
from qtj.terminal.errors import InputError
from qtj_contract import Capture, ProfileSchedule, parse_request
from qtj_operator.api.status import ProfileStatus
from qtj_operator.controller.client import Object

LATE = Answer(412, b"step 122 has begun already: choose a later one")
BOTH = ["worker-0", "worker-1"]
NAME = "qcnn"


@dataclass
class Training:
    """A job whose replicas agree to every request, and report the profile as stored at the next look.

    Attributes:
        schedule: What the leader answers.
        status: The status of the job, without its profiles.
        refusals: The answer of a replica that does not agree; None if it does not answer.
        outcome: Returns what the job reports of a capture; None for nothing.
    """

    schedule: ProfileSchedule = field(
        default_factory=lambda: ProfileSchedule(
            replicas=("worker-0", "worker-1"), step=100, steps=100_000, seconds_per_step=0.1
        )
    )
    status: dict[str, Any] = field(default_factory=lambda: {"phase": "Running", "attempt": 1})
    refusals: dict[str, Answer | None] = field(default_factory=dict)
    outcome: Callable[[Capture], dict[str, str] | None] = lambda _: {"state": "Stored", "path": "logs/qcnn/x"}
    name: str = NAME
    artifacts: str = "gs://lab/qcnn"
    viewer: str = "TensorBoard shows it"

    def __post_init__(self) -> None:
        self.asked: list[tuple[str, str]] = []
        self.captures: list[Capture] = []

    async def read(self) -> Object:
        profiles = [
            {"name": each.name, **reported}
            for each in self.captures[-1:]
            if (reported := self.outcome(each)) is not None
        ]
        container = {"name": "trainer", "image": "x:1"}
        spec = {
            "artifacts": {"uri": self.artifacts},
            "replicaSpecs": {"Worker": {"replicas": 2}},
            "template": {"spec": {"containers": [container]}},
        }
        meta = {"name": NAME, "namespace": "lab", "uid": "uid-1", "resourceVersion": "7", "generation": 1}
        return {"metadata": meta, "spec": spec, "status": {**self.status, "profiles": profiles}}

    async def ask(self, replica: str, method: str, body: str = "") -> Answer:
        self.asked.append((replica, method))
        refusal = self.refusals.get(replica, Answer(0, b"")) if method != "DELETE" else Answer(0, b"")
        if refusal is None:
            raise NoAnswerError("connection refused")
        if refusal.status:
            return refusal
        if method == "GET":
            return Answer(200, json.dumps(self.schedule.to_dict()).encode())
        if method == "POST":
            self.captures.append(parse_request(body))
        return Answer(202, b"{}")


async def taken(training: Training, length: Length | None = None) -> ProfileStatus:
    return await take_profile(training, length or Length(), lambda _: None)


async def refusal(training: Training) -> str:
    with pytest.raises(InputError) as refused:
        await taken(training)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


async def test_all_workers_start_with_the_same_step_two_seconds_ahead() -> None:
    training = Training()

    profile = await taken(training, Length(duration="2s"))

    first, second = training.captures
    assert first == second
    assert (first.step, first.duration, first.steps) == (122, "2s", None)
    assert profile == ProfileStatus(name=first.name, state="Stored", path="logs/qcnn/x")


async def test_the_leader_is_asked_after_the_others_because_it_reports_the_profile() -> None:
    training = Training()

    await taken(training)

    assert training.asked == [("worker-0", "GET"), ("worker-1", "POST"), ("worker-0", "POST")]


async def test_two_profiles_have_two_names_even_at_one_step() -> None:
    training = Training()

    names = {(await taken(training)).name for _ in range(2)}

    assert len(names) == 2


async def test_what_part_of_the_replicas_stored_is_reported_with_the_reason() -> None:
    stored = {"state": "Stored", "path": "logs/qcnn/x", "error": "worker-1 has stored no profile"}

    profile = await taken(Training(outcome=lambda _: stored))

    assert (profile.state, profile.error) == ("Stored", "worker-1 has stored no profile")


async def test_if_a_step_has_begun_nobody_profiles_it_and_a_later_one_is_chosen() -> None:
    training = Training(refusals={"worker-1": LATE})
    sentence = await refusal(training)

    withdrawn = [replica for replica, method in training.asked if method == "DELETE"]
    assert withdrawn == BOTH * 3
    assert ("worker-0", "POST") not in training.asked
    assert sentence == "qcnn takes its steps faster than its replicas can be asked: try again"


async def test_when_a_worker_does_not_answer_the_others_drop_the_request() -> None:
    training = Training(refusals={"worker-1": None})

    await refusal(training)

    assert [replica for replica, method in training.asked if method == "DELETE"] == BOTH


SILENT = "worker-1 does not answer (connection refused), and a profile is of all workers"
BUSY = Answer(409, b"the profile epoch-2 is taken first: try again when it is stored")
WAITING = Answer(409, b"this replica takes no steps now: ask the leader, once the training has started")
NO_PROFILES = "the program of qcnn takes no profiles on request: it needs qtj_trainer of this version"


@pytest.mark.parametrize(
    ("training", "sentence"),
    [
        (
            Training(refusals={"worker-1": None}),
            f"qcnn is not profiled: {SILENT}: try again when it is ready",
        ),
        (Training(refusals={"worker-1": BUSY}), f"qcnn is not profiled: worker-1 refuses: {BUSY.body.decode()}"),
        (Training(refusals={"worker-0": WAITING}), f"worker-0 of qcnn takes no profile: {WAITING.body.decode()}"),
        (Training(artifacts=""), "qcnn cannot be read: spec.artifacts: this field is missing"),
        (
            Training(refusals={"worker-0": None}),
            "worker-0 of qcnn cannot be asked for a profile: connection refused",
        ),
        (
            Training(ProfileSchedule(replicas=("worker-0",), step=1, steps=100)),
            "qcnn has not finished its second step since it started: try again when it has",
        ),
    ],
    ids=["restarts", "busy", "not begun", "unreadable", "no leader", "no second step"],
)
async def test_why_there_is_no_profile_is_one_sentence(training: Training, sentence: str) -> None:
    assert await refusal(training) == sentence


@pytest.mark.parametrize("answer", [Answer(404, b"try /progress"), Answer(200, b'{"epoch": 3}'), Answer(501, b"")])
async def test_a_program_without_profiles_on_request_is_named(answer: Answer) -> None:
    assert (await refusal(Training(refusals={"worker-0": answer}))).startswith(NO_PROFILES)


@pytest.mark.parametrize("phase", ["Pending", "Restarting", "Suspended", "Inferring", "Complete", "Failed"])
async def test_a_job_that_does_not_train_is_asked_nothing(phase: str) -> None:
    training = Training(status={"phase": phase, "attempt": 1})

    assert await refusal(training) == f"qcnn is {phase}: only a job that trains can be profiled"
    assert training.asked == []


async def test_a_training_that_ends_before_the_step_is_left_alone() -> None:
    training = Training()
    training.schedule = replace(training.schedule, step=99_990)

    assert await refusal(training) == "the training of qcnn ends too soon for a profile: 10 of 100000 steps are left"
    assert training.captures == []


@pytest.mark.parametrize(
    ("later", "why"),
    [
        ({"phase": "Running", "attempt": 2}, "the attempt ended"),
        ({"phase": "Complete", "attempt": 1}, "the training ended"),
    ],
)
async def test_an_attempt_that_ends_before_the_profile_is_stored_ends_the_wait(
    later: dict[str, object], why: str
) -> None:
    training = Training()

    def ends(_: object) -> None:
        training.status = later

    training.outcome = ends
    profile = await taken(training)

    assert (profile.state, profile.error) == ("Failed", f"{why} before the profile was stored")


async def test_a_job_that_never_reports_the_profile_is_not_waited_for_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj.profile.take.STORED_WITHIN", -10.0)
    training = Training(outcome=lambda _: {"state": "Running"})

    sentence = await refusal(training)

    name = training.captures[0].name
    assert sentence == (
        f"qcnn does not report the profile {name} in time: `qtj status qcnn -o yaml` shows status.profiles"
    )
