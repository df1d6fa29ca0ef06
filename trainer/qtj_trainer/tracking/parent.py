"""The parent of the runs of a study in MLflow: the run that has its trials below it.

MLflow has no names for runs that are given once, so two trials that start together may each create a parent. All trials
choose the same one of them, the first by time and id, when they begin and again at their end, and delete the others. So
in the end there is one, without anything that trials would have to agree on before.
"""

from collections.abc import Sequence
from contextlib import suppress
from typing import Any

from qtj_trainer.tracking.content import Study
from qtj_trainer.tracking.requests import Api, RefusedError

__all__ = ["PARENT", "finish_parent", "parent_of"]

PARENT = "mlflow.parentRunId"
"""The tag by which MLflow shows a run below another one."""

_STUDY = "qtj.study"
"""The tag by which the parent of a study is found again."""


def parent_of(api: Api, experiment: str, study: Study, milliseconds: int) -> str:
    """Returns the id of the run of a study; creates it if nobody has.

    Args:
        api: The server.
        experiment: The id of the experiment.
        study: The study.
        milliseconds: The time, since 1970.

    Raises:
        RefusedError: The server refuses it.
        UnreachableError: It does not answer.
    """
    if not (known := _known(api, experiment, study)):
        tags = [{"key": _STUDY, "value": study.identity}]
        fields = {"experiment_id": experiment, "run_name": study.name, "start_time": milliseconds, "tags": tags}
        created = api.post("runs/create", fields)["run"]["info"]["run_id"]
        known = _known(api, experiment, study) or [created]
    for other in known[1:]:
        with suppress(RefusedError):  # somebody else has deleted it
            api.post("runs/delete", {"run_id": other})
    return known[0]


def finish_parent(api: Api, parent: str, milliseconds: int) -> None:
    """Says that a trial has ended: MLflow shows until when the study has run.

    Args:
        api: The server.
        parent: The id of the run of the study.
        milliseconds: The time, since 1970.

    Raises:
        RefusedError: The server refuses it.
        UnreachableError: It does not answer.
    """
    api.post("runs/update", {"run_id": parent, "status": "FINISHED", "end_time": milliseconds})


def _known(api: Api, experiment: str, study: Study) -> Sequence[str]:
    """Returns the ids of the runs that were created for a study, the first one first."""
    text = study.identity.replace("'", "")
    wanted = {"experiment_ids": [experiment], "filter": f"tags.`{_STUDY}` = '{text}'"}
    infos: list[dict[str, Any]] = [each["info"] for each in api.post("runs/search", wanted).get("runs") or ()]
    return [each["run_id"] for each in sorted(infos, key=lambda each: (int(each["start_time"]), each["run_id"]))]
