"""A job that trains, for `qtj profile`: replicas that answer as `docs/reference/contract.md` asks for."""

import json
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

from qtj.local.http import Answer
from qtj.profile.take import NoAnswerError
from qtj_contract import Capture, ProfileSchedule, parse_request
from qtj_operator.controller.client import Object

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
