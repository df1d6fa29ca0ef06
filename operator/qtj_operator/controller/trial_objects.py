"""What is kept of a study and of the jobs of its trials in memory, and how such a job is read.

The progress of a job that has not finished, which changes every two seconds, is no news for its study: one that may
stop trials looks at it now and then.
"""

import itertools
import math
from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from qtj_contract import Progress
from qtj_operator.api.conditions import ConditionType
from qtj_operator.api.limits import BEYOND, beyond
from qtj_operator.api.names import controllers_of
from qtj_operator.api.status import FINISHED, Phase
from qtj_operator.api.study_status import TrialPhase
from qtj_operator.controller.children import is_controlled_by
from qtj_operator.controller.client import Object, Resource
from qtj_operator.controller.trim import PackedJob, packed
from qtj_operator.core.study.epoch import epoch_numbers, reached_of
from qtj_operator.core.study.on_cluster import TrialJob
from qtj_operator.manifests.trial import LABEL_STUDY, LABEL_TRIAL, trial_name

__all__ = ["is_same_trial", "trial_jobs", "trimmed_study", "within_limits"]

_META = ("name", "namespace", "uid", "resourceVersion", "deletionTimestamp", "ownerReferences")
_STUDY_META = (*_META[:-1], "generation", "creationTimestamp", "labels")
_RESULT = ("phase", "conditions", "metrics", "progress", "inference", "completionTime")

_WHILE_IT_RUNS = ("phase", "progress")

_MOST_BYTES = 300
_BYTES_OF_A_NUMBER = 24
"""Of the metrics of one trial, and of one of them beside its name: a thousand trials have to fit into one status."""


def trimmed_study(resource: Resource, obj: Object) -> Object:
    """Returns a study, packed, or of the job of a trial what is read. What is trimmed already stays as it is."""
    if resource is Resource.QUANTUM_TRAINING_JOBS:
        return _trial(obj)
    return obj if isinstance(obj, PackedJob) else PackedJob(within_limits(obj))


def is_same_trial(before: Object, after: Object) -> bool:
    """Tells whether two states of a trimmed job are the same, but for version and progress of one that runs."""
    return not isinstance(after, PackedJob) and _unversioned(before) == _unversioned(after)


def _unversioned(obj: Object) -> Mapping[str, Any]:
    status = obj["status"]
    kept = status if status.get("phase") in FINISHED else {**status, "progress": None}
    return {**obj, "metadata": {**obj["metadata"], "resourceVersion": ""}, "status": kept}


def within_limits(study: Object) -> Object:
    """Returns a study with what is read of it, and without its spec where that is too large.

    One user must not fill the memory. What else is in its metadata, is for others; a write of the status leaves it.
    """
    meta = {name: value for name, value in study["metadata"].items() if name in _STUDY_META}
    reason = beyond(packed({"metadata": {"labels": meta.get("labels")}, "spec": study.get("spec")}), "the study")
    if reason is None:
        return {**study, "metadata": meta}
    meta.pop("labels", None)
    return {**{name: value for name, value in study.items() if name != "spec"}, "metadata": meta, BEYOND: reason}


def _trial(job: Object) -> Object:
    whole = job.unpacked() if isinstance(job, PackedJob) else job
    meta, status = whole["metadata"], whole.get("status") or {}
    names = _RESULT if status.get("phase") in FINISHED else _WHILE_IT_RUNS
    labels = meta.get("labels") or {}
    return {
        "metadata": {
            **{name: meta[name] for name in _META if name in meta},
            "ownerReferences": controllers_of(meta),
            "labels": {label: labels[label] for label in (LABEL_STUDY, LABEL_TRIAL) if label in labels},
        },
        "spec": {"suspend": (whole.get("spec") or {}).get("suspend") is True},
        "status": {name: status[name] for name in names if name in status},
    }


def trial_jobs(objects: Sequence[Object], study: Object, metric: str) -> Mapping[int, TrialJob]:
    """Returns the jobs that a study owns, by the numbers of their trials.

    Args:
        objects: All that have its label.
        study: The study.
        metric: The one that is compared, which is kept before all others.
    """
    meta = study["metadata"]
    own = {each["metadata"]["name"]: each for each in objects if is_controlled_by(each, meta["uid"])}
    numbers = {name: each["metadata"]["labels"].get(LABEL_TRIAL, "") for name, each in own.items()}
    return {
        int(number): _parsed(own[name], metric)
        for name, number in numbers.items()
        if number.isdecimal() and name == trial_name(meta["name"], int(number))
    }


def _parsed(job: Object, metric: str) -> TrialJob:
    meta, status = job["metadata"], job["status"]
    phase = status.get("phase")
    result = TrialPhase(phase) if phase in FINISHED else TrialPhase.RUNNING
    end = status.get("completionTime")
    return TrialJob(
        name=meta["name"],
        uid=meta["uid"],
        version=meta["resourceVersion"],
        result=result,
        metrics=_metrics(status, metric) if phase == Phase.COMPLETE else None,
        message=_why(status) if phase == Phase.FAILED else None,
        end=datetime.fromisoformat(end) if end else None,
        is_leaving="deletionTimestamp" in meta,
        is_suspended=job["spec"]["suspend"],
        reached=reached_of(status) if result == TrialPhase.RUNNING else None,
    )


def _metrics(status: Mapping[str, Any], metric: str) -> Mapping[str, float]:
    """Returns what a job has measured: numbers of its last epoch, and final metrics, those of inference before all."""
    progress, inference = Progress.from_dict(status.get("progress") or {}), status.get("inference") or {}
    last = epoch_numbers(progress) if progress else {}
    numbers = {**last, **(status.get("metrics") or {}), **(inference.get("metrics") or {})}
    finite = {name: float(number) for name, number in numbers.items() if math.isfinite(number)}
    first = sorted(finite, key=lambda name: (name != metric, name))
    sizes = itertools.accumulate(len(name.encode()) + _BYTES_OF_A_NUMBER for name in first)
    kept = {name for name, size in zip(first, sizes, strict=True) if size <= _MOST_BYTES}
    return {name: finite[name] for name in sorted(kept)}


def _why(status: Mapping[str, Any]) -> str:
    conditions = status.get("conditions") or ()
    return next((str(each["message"]) for each in conditions if each["type"] == ConditionType.FAILED), "")
