"""A job that is followed without a terminal: a line for each change, and who is asked again without an answer."""

from collections.abc import Sequence
from io import StringIO

import pytest
from rich.console import Console

from qtj.local.store import Change
from qtj.monitor import watch
from qtj.monitor.snapshot import Snapshot
from qtj.monitor.watch import Changes, Lines, until_answered
from qtj.runs.line_view import LineView
from qtj_operator.controller.client import ApiError
from tests.cli.seen import seen

NO_ROUTE = ApiError(0, "Unreachable", "no route")
BUSY = ApiError(429, "TooManyRequests", "busy")
FORBIDDEN = ApiError(403, "Forbidden", "you may not list pods")


def event(name: str, message: str = "2 of 2 replicas are ready", count: int = 1) -> dict[str, object]:
    about = {"involvedObject": {"name": "qcnn"}, "type": "Normal", "reason": "AllReplicasReady"}
    return {"metadata": {"name": name, "uid": name}, **about, "message": message, "count": count}


def pod(name: str, phase: str = "Running") -> dict[str, object]:
    return {"metadata": {"name": name, "namespace": "lab", "uid": name}, "status": {"phase": phase}}


def kinds(changes: list[Change]) -> list[tuple[str, str]]:
    return [(each.type, each.resource.value[1]) for each in changes]


def lines_of(*looks: Snapshot) -> list[str]:
    paper = StringIO()
    lines = Lines(LineView(Console(file=paper, width=200), clock=lambda: 0.0))
    for each in looks:
        lines.show([each])
    return [line[11:] for line in paper.getvalue().splitlines()]


def test_only_what_has_changed_since_the_last_look_is_a_change() -> None:
    changes = Changes()
    first = seen(events=[event("a")], pods=[pod("worker-0")])

    assert kinds(list(changes.between([first]))) == [
        ("ADDED", "events"), ("ADDED", "pods"), ("ADDED", "quantumtrainingjobs"),
    ]  # fmt: skip
    assert not list(changes.between([first]))
    assert kinds(list(changes.between([seen(events=[event("a")], pods=[pod("worker-0", "Failed")])]))) == [
        ("MODIFIED", "pods")
    ]


def test_a_pod_that_is_gone_is_deleted() -> None:
    changes = Changes()
    list(changes.between([seen(pods=[pod("worker-0")])]))

    (gone,) = changes.between([seen()])

    assert (gone.type, gone.object["metadata"]["name"]) == ("DELETED", "worker-0")


def test_stages_epochs_and_the_end_are_lines() -> None:
    progress = {"epoch": 25, "epochs": 25, "loss": 0.25}
    message = {"type": "Complete", "status": "True", "message": "inference is done"}

    shown = lines_of(
        seen("Pending"),
        seen(activity="compiling"),
        seen(progress=progress),
        seen("Complete", is_over=True, progress=progress, conditions=[message]),
    )

    assert shown == [
        "qcnn  starting",
        "qcnn  running",
        "qcnn  compiling",
        "qcnn  epoch 25/25  loss 0.2500",
        "qcnn is Complete: inference is done",
        "qcnn  took: starting 0.0 s, running 0.0 s, compiling 0.0 s",
    ]


class Cluster:
    """Answers with errors first, in their order."""

    def __init__(self, errors: Sequence[ApiError]) -> None:
        self._errors = list(errors)
        self.complaints: list[str] = []

    async def ask(self) -> str:
        if self._errors:
            raise self._errors.pop(0)
        return "an answer"


async def test_each_reason_is_reported_once_until_there_is_an_answer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(watch, "PERIOD_SECONDS", 0.0)
    cluster = Cluster([NO_ROUTE, NO_ROUTE, BUSY, NO_ROUTE])

    assert await until_answered(cluster.ask, cluster.complaints.append) == "an answer"
    assert [each.partition(";")[0] for each in cluster.complaints] == ["no route", "busy", "no route"]


async def test_a_refusal_ends_it() -> None:
    cluster = Cluster([FORBIDDEN])

    with pytest.raises(ApiError, match="you may not list pods"):
        await until_answered(cluster.ask, cluster.complaints.append)

    assert not cluster.complaints
