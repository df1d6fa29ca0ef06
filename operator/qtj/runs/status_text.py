"""The status of a job as text: its stage, such as training, and its numbers."""

from collections.abc import Mapping
from typing import Any

from qtj_operator.api.conditions import ConditionType, Reason
from qtj_operator.api.status import Phase

__all__ = ["FINAL_STAGES", "STOPPING", "facts_of", "fit_facts", "phase_message", "stage_of"]

_STAGES = {Phase.PENDING: "starting", Phase.RUNNING: "running"}
FINAL_STAGES = {"complete", "failed", "suspended"}
"""Stages in which nothing happens to a job unless its author acts."""
STOPPING = "stopping"
"""A job is suspended, and its programs have not ended yet."""

_ASSEMBLING = {Phase.PENDING, Phase.RUNNING, Phase.RESTARTING}
_EXPLAINED_BY: Mapping[str, str] = {
    Phase.PENDING: ConditionType.RUNNING,
    Phase.RESTARTING: ConditionType.RUNNING,
    Phase.INFERRING: ConditionType.COMPLETE,
}
"""The conditions that explain phases without a condition of that name: as `decisive` of the operator chooses them."""

_FORMS = {"loss": "loss {:.4f}", "accuracy": "accuracy {:.3f}", "examplesPerSecond": "{:.0f} examples/s"}
_DROP_ORDER = ("step", "examplesPerSecond", "ready", "accuracy", "left", "loss", "epoch")
"""The facts that a narrow terminal leaves out, in this order."""


def stage_of(status: Mapping[str, Any], activity: str | None) -> str:
    """Returns the stage of a job: its phase or, while it runs, the activity that its program reports.

    Args:
        status: The job's status.
        activity: The activity of its leader; "" while it trains, None if it has reported nothing.
    """
    phase = status.get("phase", Phase.PENDING)
    if phase == Phase.RUNNING and activity is not None:
        return activity or "training"
    return _STAGES.get(phase, str(phase).lower())


def facts_of(status: Mapping[str, Any]) -> dict[str, str]:
    """Returns the numbers of a job as text, by their names in the status, in the order of a line."""
    facts = {}
    present, _, wanted = str(status.get("ready", "")).partition("/")
    if status.get("phase") in _ASSEMBLING and present != wanted and not _has_finished(status):
        facts["ready"] = f"ready {present}/{wanted}"
    progress = status.get("progress") or {}
    for name, all_of_them in (("epoch", "epochs"), ("step", "steps")):
        if progress.get(all_of_them):
            facts[name] = f"{name} {progress.get(name, 0)}/{progress[all_of_them]}"
        elif name == "epoch" and name in progress:
            facts[name] = f"epoch {progress[name]}"
    return facts | {name: form.format(progress[name]) for name, form in _FORMS.items() if name in progress}


def fit_facts(facts: Mapping[str, str], width: int) -> str:
    """Returns the most important facts, as many as fit."""
    kept = dict(facts)
    for name in _DROP_ORDER:
        if len("  ".join(kept.values())) > width:
            kept.pop(name, None)
    return "  ".join(kept.values())


def phase_message(status: Mapping[str, Any]) -> str:
    """Returns the message of the condition that explains the phase, and what the training left out; may be empty."""
    phase, conditions = status.get("phase"), status.get("conditions") or ()
    kind = _EXPLAINED_BY.get(str(phase), phase)
    explained = [str(each["message"]) for each in conditions if each["type"] == kind]
    in_part = [str(each["message"]) for each in conditions if each.get("reason") == Reason.TRAINED_IN_PART]
    return "; ".join([*explained[:1], *in_part])


def _has_finished(status: Mapping[str, Any]) -> bool:
    """Whether a replica is no longer ready because it is done."""
    return any(each.get("succeeded") for each in (status.get("replicas") or {}).values())
