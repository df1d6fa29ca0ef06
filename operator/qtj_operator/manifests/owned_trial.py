"""The job of a trial on a cluster: that of the template, owned by its study.

The study sees to its time to live: a job that deleted itself might do so before its result is in the study's status.
It does not block the deletion of its study in the foreground, which would need one more right.
"""

from collections.abc import Mapping
from typing import Any

from qtj_operator.api.copied_labels import NO_LABELS, CopiedLabels
from qtj_operator.api.names import API_VERSION
from qtj_operator.api.study import STUDY_KIND
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.trial import trial_job

__all__ = ["owned_trial"]


def owned_trial(study: Mapping[str, Any], trial: TrialStatus, copied: CopiedLabels = NO_LABELS) -> Manifest:
    """Returns the job of a trial.

    Args:
        study: The study, as the API server has it.
        trial: The trial.
        copied: Which labels of the study the job has too, and so everything made for it.
    """
    meta = study["metadata"]
    job = trial_job(meta, study["spec"]["jobTemplate"], trial.number, trial.parameters, trial.seed)
    owner = {"apiVersion": API_VERSION, "kind": STUDY_KIND, "name": meta["name"], "uid": meta["uid"]}
    job["metadata"]["labels"] = {**copied.of(meta.get("labels") or {}), **job["metadata"]["labels"]}
    job["metadata"]["ownerReferences"] = [{**owner, "controller": True}]
    policy = job["spec"].get("runPolicy")
    if isinstance(policy, dict):
        policy.pop("ttlSecondsAfterFinished", None)
    return job
