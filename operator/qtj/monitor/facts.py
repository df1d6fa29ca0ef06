"""Everything about jobs as names and values, rows and lines, and what happened to them."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from qtj.monitor.snapshot import Replica, Snapshot, replica_names, spec_of
from qtj.runs.summary import age_text, epoch_text, loss_text, step_text
from qtj.terminal.text import columns
from qtj_contract.digits import in_digits
from qtj_operator.api.names import KIND, inference_name
from qtj_operator.api.platform_policy import Given, given_to
from qtj_operator.api.reading import read_status
from qtj_operator.api.run_policy import RunPolicy
from qtj_operator.controller.client import Object
from qtj_operator.controller.last_events import time_of
from qtj_report.wording import metric_name, sparkline

__all__ = [
    "EVENT_HEADINGS",
    "JOB_HEADINGS",
    "REPLICA_HEADINGS",
    "count_of",
    "event_cells",
    "events_about",
    "facts",
    "job_cells",
    "jobs_text",
    "last_events",
    "replica_cells",
    "share_done",
    "status_text",
]

_CURVE = 40
_EVENTS = 5
REPLICA_HEADINGS = ("REPLICA", "STATE", "NODE", "EXIT CODE", "RESTARTS", "OWN STEP")
_SHORT_CURVE = 16
_PLAIN = {"Running", "Complete"}
JOB_HEADINGS = ("JOB", "PHASE", "REASON", "READY", "EPOCH", "LOSS", "LOSS CURVE", "TIME LEFT", "RESTARTS", "AGE")
EVENT_HEADINGS = ("LAST SEEN", "TYPE", "REASON", "OBJECT", "MESSAGE")
_BEGINNING = datetime.min.replace(tzinfo=UTC)


def facts(seen: Snapshot) -> Iterator[tuple[str, str]]:
    """Yields the phase of a job and why, its numbers, and where it is."""
    status = seen.status
    yield "run" if "folder" in seen.places else "job", seen.name
    yield "phase", seen.phase
    if seen.why:
        yield "why", seen.why
    yield "began", f"{seen.age} ago" if seen.age != "-" else "-"
    yield from _training(seen)
    if step := step_text(read_status({"status": status}).steps):
        yield "step", step
    if evaluation := status.get("evaluation"):
        yield "evaluated", _evaluated(evaluation)
    if status.get("attempt", 1) > 1:
        yield "attempt", str(status["attempt"])
    if restarts := _restarts(status):
        yield "restarts", restarts
    for profile in status.get("profiles") or ():
        yield "profile", _profile(profile)
    if weights := status.get("weights"):
        yield "weights", weights["uri"]
    for name, value in ((status.get("inference") or {}).get("metrics") or {}).items():
        yield metric_name(name, "inference", curves=["loss"]), in_digits(value)
    for given in _given(status, seen.job):
        yield "platform", f"{given.field} is {given.value}, the {given.source} of the platform"
    yield from seen.places.items()


def _given(status: Mapping[str, Any], job: Object) -> Iterator[Given]:
    """Yields the values that a job has from its platform."""
    policy, spec = read_status({"status": status}).platform_policy, spec_of(job)
    if policy is not None and spec is not None:
        yield from given_to(spec.run_policy or RunPolicy(), spec.tensorboard, policy)


def _profile(profile: Mapping[str, str]) -> str:
    """Returns the state of a profile, where it is, and what is missing of it."""
    details = (profile.get("path"), profile.get("error"))
    return f"{profile['name']} {profile['state']}{''.join(f', {each}' for each in details if each)}"


def replica_cells(replica: Replica) -> Sequence[str]:
    """Returns the row of a replica, below `REPLICA_HEADINGS`."""
    code = "-" if replica.exit_code is None else str(replica.exit_code)
    own = "-" if replica.own_seconds is None else f"{in_digits(replica.own_seconds)} s"
    return replica.name, replica.state, replica.node or "-", code, str(replica.restarts), own


def last_events(seen: Snapshot) -> Sequence[Object]:
    """Returns the events that a summary shows."""
    return seen.events[-_EVENTS:]


def _training(seen: Snapshot) -> Iterator[tuple[str, str]]:
    if seen.activity and seen.phase == "Running":
        yield "doing", seen.activity
    if epoch := epoch_text(seen.progress):
        yield "epoch", epoch
    if seen.left:
        yield "time left", seen.left.removesuffix(" left")
    if loss := loss_text(seen.progress):
        yield "loss", loss
    if len(seen.losses) > 1:
        yield "loss curve", sparkline(seen.losses, _CURVE)


def _restarts(status: Mapping[str, Any]) -> str:
    counted, disruptions = status.get("restarts", 0), status.get("disruptions", 0)
    after = f"{disruptions} after disruptions" if disruptions else ""
    return ", and ".join(filter(None, (str(counted) if counted else "", after)))


def _evaluated(evaluation: Mapping[str, Any]) -> str:
    """Returns the last result of the evaluator."""
    measured = {"validation loss": evaluation.get("validationLoss"), "accuracy": evaluation.get("accuracy")}
    numbers = ", ".join(f"{name} {in_digits(value)}" for name, value in measured.items() if value is not None)
    step = f", step {evaluation['step']}" if evaluation.get("step") else ""
    return f"epoch {evaluation['epoch']}{step}" + (f": {numbers}" if numbers else "")


def job_cells(seen: Snapshot) -> Sequence[str]:
    """Returns the row of a job, below `JOB_HEADINGS`."""
    restarts = seen.status.get("restarts", 0) + seen.status.get("disruptions", 0)
    return (
        seen.name,
        seen.phase,
        _reason(seen),
        seen.status.get("ready") or "-",
        epoch_text(seen.progress) or "-",
        loss_text(seen.progress) or "-",
        (sparkline(seen.losses, _SHORT_CURVE) if len(seen.losses) > 1 else "") or "-",
        seen.left.removesuffix(" left") or "-",
        str(restarts),
        seen.age,
    )


def _reason(seen: Snapshot) -> str:
    """Returns why it waits or has failed; the reason of one that runs or is done says no more than its phase."""
    reason = "" if seen.phase in _PLAIN else seen.status.get("reason")
    return reason or "-"


def share_done(seen: Snapshot) -> float:
    """Returns how much of the training is done, from 0 to 1; 0 where that is not known."""
    progress = seen.progress
    done, wanted = (progress.get("step"), progress.get("steps")) if progress.get("steps") else (None, None)
    if not wanted:
        done, wanted = progress.get("epoch"), progress.get("epochs")
    return min((done or 0) / wanted, 1.0) if wanted else 0.0


def status_text(seen: Snapshot) -> str:
    """Returns all that is known of one job, a line for each fact."""
    return "\n".join(_status_lines(seen))


def jobs_text(snapshots: Sequence[Snapshot]) -> str:
    """Returns a line for each job, and then one for each replica of those that are not over."""
    lines = columns([JOB_HEADINGS, *map(job_cells, snapshots)])
    replicas = [
        (each.name, *replica_cells(replica)) for each in snapshots if not each.is_over for replica in each.replica_rows
    ]
    return f"{lines}\n\n{columns([('JOB', *REPLICA_HEADINGS), *replicas])}" if replicas else lines


def _status_lines(seen: Snapshot) -> Iterator[str]:
    for name, value in facts(seen):
        yield f"{name:<11} {value}"
    if seen.replica_rows:
        yield ""
        yield columns([REPLICA_HEADINGS, *map(replica_cells, seen.replicas)])
        yield ""
    for event in last_events(seen):
        yield f"{'event':<11} {event['reason']}: {event['message']}"
    if seen.follows:
        yield f"{'next':<11} {seen.follows}"


def event_cells(event: Object, now: datetime) -> Sequence[str]:
    """Returns the row of an event, below `EVENT_HEADINGS`."""
    about, at, count = event["involvedObject"], time_of(event), count_of(event)
    age = "-" if at == _BEGINNING else age_text(now - at)
    name = f"{str(about.get('kind') or '').lower()}/{about.get('name')}".removeprefix("/")
    message = " ".join(str(event.get("message") or "").split())
    return (
        f"{age} (x{count})" if count > 1 else age,
        str(event.get("type") or "-"),
        str(event.get("reason") or "-"),
        name,
        message,
    )


def events_about(job: Object, events: Sequence[Object]) -> Sequence[Object]:
    """Returns the events about a job and its children, oldest first.

    Args:
        job: The job. Events about an earlier job of its name are left out.
        events: Events of its namespace.
    """
    return sorted(_about(job, events), key=time_of)


def _about(job: Object, events: Sequence[Object]) -> Iterator[Object]:
    meta = job["metadata"]
    names, inference = replica_names(job), inference_name(meta["name"])
    created = datetime.fromisoformat(meta["creationTimestamp"])
    for event in events:
        about = event["involvedObject"]
        kind, name = about.get("kind"), about.get("name") or ""
        if kind == KIND:
            is_ours = about.get("uid") == meta["uid"]
        else:
            is_child = name in names or name == inference or (kind == "Pod" and name.startswith(f"{inference}-"))
            is_ours = is_child and time_of(event) >= created
        if is_ours:
            yield event


def count_of(event: Mapping[str, Any]) -> int:
    """Returns how often an event has happened."""
    return int((event.get("series") or {}).get("count") or event.get("count") or 1)
