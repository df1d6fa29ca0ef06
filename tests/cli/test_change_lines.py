"""A job that is followed without a terminal: a line for each change, wherever the job runs."""

from io import StringIO

from rich.console import Console

from qtj.local.store import Change
from qtj.monitor.change_lines import Changes, Lines
from qtj.monitor.snapshot import Snapshot
from qtj.runs.line_view import LineView
from tests.cli.seen import seen


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
