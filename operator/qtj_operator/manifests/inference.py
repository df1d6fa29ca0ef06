"""The Job that loads exactly the recorded weights and evaluates them; if none are recorded, it finds them itself."""

from collections.abc import Sequence

from qtj_contract import Env, is_retryable
from qtj_operator.api.digest import digest_of
from qtj_operator.api.job import Job, main_container
from qtj_operator.api.names import LABEL_INFERENCE, inference_name
from qtj_operator.api.requirements import REQUIREMENTS_NAME
from qtj_operator.api.spec import Inference
from qtj_operator.api.status import WeightsStatus
from qtj_operator.api.template import PodSpec
from qtj_operator.manifests.inherited import inherited
from qtj_operator.manifests.manifest import Manifest, metadata
from qtj_operator.manifests.pod import job_environment, pod_template
from qtj_operator.manifests.queueing import queue

__all__ = ["inference_job", "inference_run"]


def inference_run(inference: Inference, weights: WeightsStatus | None) -> str:
    """Returns a digest of everything that an inference run depends on: another digest means another run."""
    identity = weights and (weights.sha256 or weights.uri)
    inputs = {"inference": inference.model_dump(exclude_none=True), "weights": identity}
    return digest_of(inputs)


def inference_job(job: Job, inference: Inference, weights: WeightsStatus | None) -> Manifest:
    """Returns the Job: its template, and variables with the address and the checksum of the weights, if known."""
    labels = {LABEL_INFERENCE: inference_run(inference, weights)}
    environment = {**job_environment(job, job.status.attempt or 1), **_weights_environment(weights)}
    source = job.inference_template
    template = pod_template(source, environment)
    own = metadata(job, inference_name(job.name), labels)
    template["metadata"] = inherited(source.metadata, {"labels": own["labels"]}, job.copied_labels)
    own["labels"].update(
        queue(job)
    )  # only on the Job: Kueue would treat a pod with a queue name as one without an owner
    _set_command(template["spec"], inference, trains=job.spec.program is None)
    deadline = inference.active_deadline_seconds
    return {
        "apiVersion": "batch/v1",
        "kind": "Job",
        "metadata": own,
        "spec": {
            "backoffLimit": inference.retries,
            **({"activeDeadlineSeconds": deadline} if deadline else {}),
            "podFailurePolicy": _failure_policy(_judged(source.spec)),
            "template": template,
        },
    }


def _weights_environment(weights: WeightsStatus | None) -> dict[str, str]:
    if weights is None:
        return {}
    checksum: dict[str, str] = {} if weights.sha256 is None else {Env.WEIGHTS_SHA256: weights.sha256}
    return {Env.WEIGHTS_URI: weights.uri, **checksum}


def _judged(pod: PodSpec) -> Sequence[str]:
    """Returns the containers whose exit codes follow the contract: the main one, and the installation before it."""
    installs = [each.name for each in pod.init_containers if each.name == REQUIREMENTS_NAME]
    return [pod.main.name, *installs]


def _failure_policy(containers: Sequence[str]) -> Manifest:
    """Returns the contract's meaning of exit codes as a podFailurePolicy; a disruption does not use up a retry."""
    final = [code for code in range(1, 256) if not is_retryable(code)]
    fails = ({"containerName": name, "operator": "In", "values": final} for name in containers)
    return {
        "rules": [
            {"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]},
            *({"action": "FailJob", "onExitCodes": each} for each in fails),
        ]
    }


def _set_command(spec: Manifest, inference: Inference, *, trains: bool) -> None:
    """Sets what inference runs; only the arguments of our own trainer are known, so not those of `spec.program`."""
    main = main_container(spec["containers"])
    trains = trains and _trains(main)
    if inference.command is not None:
        main["command"] = inference.command
        main["args"] = []  # those of a container whose command is another one
    if inference.args is not None:
        main["args"] = inference.args
    elif inference.command is None and inference.template is None and trains:
        main["args"] = ["infer"]


def _trains(container: Manifest) -> bool:
    """Whether the arguments are those of `qtj_trainer train ...`. Any other program finds out from its environment.

    After a command, which may be any program's, only the first word counts. Without one, options of the trainer may
    stand before it.
    """
    args = container.get("args") or []
    return "train" in (args[:1] if container.get("command") else args)
