"""Takes a profile of a job that trains.

    leader      GET       which replicas take one, and how far the training is
    followers   POST      start before this step, some seconds ahead
    leader      POST      the same; it reports the profile, so it is asked when all others have agreed
    job         status    until the profile is stored

If a follower does not agree, those that did are asked to drop the request, and nothing was profiled. If the step has
begun before a request arrived, a later one is chosen.
"""

import asyncio
import math
import secrets
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from http import HTTPStatus
from typing import Protocol

from qtj.local.http import Answer
from qtj.terminal.errors import InputError
from qtj_contract import Capture, ProfileSchedule, request_body
from qtj_contract.captures import LONGEST_SECONDS, STEPS, seconds_of
from qtj_operator.api.job import Job
from qtj_operator.api.reading import InvalidJob, read_status
from qtj_operator.api.status import FINISHED, Phase, ProfileStatus
from qtj_operator.controller.client import Object

__all__ = ["Length", "NoAnswerError", "Target", "take_profile"]

_LEADS = (2.0, 6.0, 20.0)
"""Seconds from a request to the step with which a profile starts: of the first try, and of each after it."""
_ROUND_TRIPS = 4
"""At least so many times as long as the leader takes to answer."""
STORED_WITHIN = 120.0
"""Seconds from the end of a profile until the job reports it: replicas look for the files of their peers for 30 s."""
_PERIOD = 0.5
_PARALLEL = 32


class NoAnswerError(Exception):
    """A replica cannot be reached. The message is the reason, in a few words."""


class Target(Protocol):
    """A job whose replicas can be asked.

    Attributes:
        name: Its name on the command line.
        artifacts: The address of its artifacts.
        viewer: How to see its profiles, in a few words.
    """

    name: str
    artifacts: str
    viewer: str

    async def read(self) -> Object:
        """Returns the job as it is now.

        Raises:
            InputError: There is none any more, or it cannot be read.
        """

    async def ask(self, replica: str, method: str, body: str = "") -> Answer:
        """Sends a request to the profile endpoint of a replica, such as worker-0.

        Raises:
            NoAnswerError: It cannot be reached.
        """


@dataclass(frozen=True, slots=True)
class Length:
    """How long a profile takes: by one of them, or the default number of steps.

    Attributes:
        steps: So many steps.
        duration: So long, such as 2s.
    """

    steps: int | None = None
    duration: str | None = None

    def seconds(self, pace: float) -> float:
        """Returns how long it takes, with a number of seconds for each step."""
        if self.duration:
            return seconds_of(self.duration) + pace
        return min((self.steps or STEPS) * pace, LONGEST_SECONDS + pace)


class _LateError(Exception):
    """A replica has begun the chosen step already."""


async def take_profile(target: Target, length: Length, say: Callable[[str], None]) -> ProfileStatus:
    """Takes a profile of every worker, and waits until the job reports it.

    Args:
        target: The job.
        length: How long the profile takes.
        say: Called with a sentence while it waits.

    Returns:
        What became of the profile, with its name.

    Raises:
        InputError: The job does not train, its program takes no profiles, or a replica does not agree or does not
            answer. Nothing was profiled then. Or the job does not report the profile in time.
    """
    job = await target.read()
    leader = _leader_of(target.name, job)
    for lead in _LEADS:
        schedule, seconds = await _schedule(target, leader)
        pace = schedule.seconds_per_step or 0.0
        capture = _chosen(target.name, schedule, length, max(lead, _ROUND_TRIPS * seconds))
        try:
            await _request(target, leader, schedule.replicas, capture)
        except _LateError:
            continue
        wait = ((capture.step or 0) - schedule.step) * pace
        say(f"{target.name}: the profile {capture.name} starts in about {math.ceil(wait)} s")
        last = time.monotonic() + wait + length.seconds(pace) + STORED_WITHIN
        return await _reported(target, capture.name, read_status(job).attempt, last)
    raise InputError(f"{target.name} takes its steps faster than its replicas can be asked: try again")


def _leader_of(name: str, job: Object) -> str:
    """Returns the replica that leads a training.

    Raises:
        InputError: The job does not train, or cannot be read.
    """
    phase = read_status(job).phase or Phase.PENDING
    if phase != Phase.RUNNING:
        raise InputError(f"{name} is {phase}: only a job that trains can be profiled")
    try:
        leader = Job.parse(job).leader
    except InvalidJob as problem:
        raise InputError(f"{name} cannot be read: {problem}") from None
    return f"{leader.role.task_type}-{leader.index}"


async def _schedule(target: Target, leader: str) -> tuple[ProfileSchedule, float]:
    """Returns the answer of the leader, and how many seconds it took.

    Raises:
        InputError: It has none.
    """
    began = time.monotonic()
    try:
        answer = await target.ask(leader, "GET")
    except NoAnswerError as problem:
        raise InputError(f"{leader} of {target.name} cannot be asked for a profile: {problem}") from None
    schedule = ProfileSchedule.parse(answer.body.decode(errors="replace")) if answer.status == HTTPStatus.OK else None
    if schedule is not None:
        return schedule, time.monotonic() - began
    if answer.status == HTTPStatus.CONFLICT:
        raise InputError(f"{leader} of {target.name} takes no profile: {_sentence(answer.body)}")
    raise InputError(
        f"the program of {target.name} takes no profiles on request: it needs qtj_trainer of this version, or what"
        " docs/reference/contract.md describes"
    )


def _chosen(name: str, schedule: ProfileSchedule, length: Length, lead: float) -> Capture:
    """Returns a capture that starts after some seconds.

    Raises:
        InputError: No step is left, or the time of a step is not known yet.
    """
    if not schedule.seconds_per_step:
        raise InputError(f"{name} has not finished its second step since it started: try again when it has")
    step = schedule.step + 2 + math.ceil(lead / schedule.seconds_per_step)
    if schedule.steps is not None and step > schedule.steps:
        left = schedule.steps - schedule.step
        raise InputError(
            f"the training of {name} ends too soon for a profile: {left} of {schedule.steps} steps are left"
        )
    return Capture(id=secrets.token_hex(4), step=step, steps=length.steps, duration=length.duration)


async def _request(target: Target, leader: str, replicas: Sequence[str], capture: Capture) -> None:
    """Asks the followers, and then the leader. If one of them does not agree, nobody takes the profile.

    Raises:
        InputError: A replica refuses, or does not answer.
        _LateError: A replica has begun the step.
    """
    body, limit = request_body(capture), asyncio.Semaphore(_PARALLEL)

    async def ask(replica: str, method: str) -> None:
        async with limit:
            await _agreed(target, replica, method, body)

    followers = [each for each in replicas if each != leader]
    answers = await asyncio.gather(*(ask(each, "POST") for each in followers), return_exceptions=True)
    problems = [each for each in answers if isinstance(each, BaseException)]
    try:
        for problem in problems:
            raise problem
        await ask(leader, "POST")
    except (InputError, _LateError):
        await asyncio.gather(*(ask(each, "DELETE") for each in replicas), return_exceptions=True)
        raise


async def _agreed(target: Target, replica: str, method: str, body: str) -> None:
    try:
        answer = await target.ask(replica, method, body)
    except NoAnswerError as problem:
        why = f"{replica} does not answer ({problem}), and a profile is of all workers"
        raise InputError(f"{target.name} is not profiled: {why}: try again when it is ready") from None
    if answer.status == HTTPStatus.PRECONDITION_FAILED:
        raise _LateError
    if answer.status != HTTPStatus.ACCEPTED:
        raise InputError(f"{target.name} is not profiled: {replica} refuses: {_sentence(answer.body)}")


async def _reported(target: Target, name: str, attempt: int | None, last: float) -> ProfileStatus:
    """Returns what the job reports of a profile.

    Raises:
        InputError: It does not report it in time, or cannot any more.
    """
    while True:
        status = read_status(await target.read())
        found = next((each for each in status.profiles if each.name == name), None)
        if found and found.state != "Running":
            return found
        if status.phase in FINISHED or status.attempt != attempt:
            ended = "the attempt" if status.attempt != attempt else "the training"
            return ProfileStatus(name=name, state="Running").cut_off(ended)
        if time.monotonic() > last:
            raise InputError(
                f"{target.name} does not report the profile {name} in time: `qtj status {target.name} -o yaml` shows"
                " status.profiles"
            )
        await asyncio.sleep(_PERIOD)


def _sentence(body: bytes) -> str:
    return " ".join(body.decode(errors="replace").split())[:200] or "it gives no reason"
