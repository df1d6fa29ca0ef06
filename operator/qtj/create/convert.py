"""`qtj convert`: a TFJob of Kubeflow's training-operator as a QuantumTrainingJob.

Source: kubeflow.org/v1, `TFJobSpec` and `RunPolicy` of training-operator 1.9.
"""

from collections.abc import Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from pydantic import ValidationError

from qtj.checks.job import job_mistakes
from qtj.files.documents import Document, read_documents
from qtj.terminal.errors import InputError, map_with_errors
from qtj_contract import Env
from qtj_operator.api.artifacts import Artifacts
from qtj_operator.api.job import main_container
from qtj_operator.api.names import KIND, LABEL_QUEUE, NEWEST_API_VERSION, Role
from qtj_operator.api.reading import faults

__all__ = ["Converted", "as_yaml", "convert_file"]

_MAIN, _OURS = "tensorflow", "trainer"
"""The container that runs the program: in a TFJob, and in a QuantumTrainingJob."""

_ROLES = {
    "chief": Role.CHIEF,
    "master": Role.CHIEF,
    "worker": Role.WORKER,
    "ps": Role.PS,
    "evaluator": Role.EVALUATOR,
    "eval": Role.EVALUATOR,
}
_RUN_POLICY = ("backoffLimit", "activeDeadlineSeconds", "ttlSecondsAfterFinished", "cleanPodPolicy")
"""TFJobs that are older than the runPolicy of kubeflow.org/v1 have these fields in the spec itself."""


_NO_COUNTERPART = "this has no equivalent"
_NO_CHIEF = (
    "parameter servers without a Chief: with the strategy None, the program decides who coordinates; name a Chief for "
    "strategy ParameterServer"
)
_ALONE = (
    "one worker alone gets the strategy None, and so no TF_CONFIG, as in a TFJob; MultiWorkerMirrored sets one, which "
    "tf.estimator refuses"
)
_NO_ROOT = (
    "an image that runs as root does not start, because pods have runAsNonRoot: true: set securityContext.runAsUser "
    "in the template, or runAsNonRoot: false where the namespace allows it"
)
_RESTARTS = {
    "Always": "a replica that succeeds is never started again here",
    "OnFailure": "an exit code from 1 to 127 except 75 is final here: to ask for a retry, exit with 75",
}
_SAME_MEANING = ("Never", "ExitCode")
"""Policies with the same meaning in a QuantumTrainingJob."""

_REMARKS = {
    ("enableDynamicWorker",): "the number of replicas is fixed here",
    ("runPolicy", "managedBy"): "it names a controller of TFJobs: left out",
    ("runPolicy", "schedulingPolicy", "minAvailable"): "a gang is always whole here: gang: true, which needs "
    "pod groups of Kubernetes 1.37, or else the name of the plugin's scheduler in the template",
    ("runPolicy", "schedulingPolicy", "minResources"): "a gang's resources are those of its pods",
    ("runPolicy", "schedulingPolicy", "priorityClass"): "set priorityClassName in the template",
    ("runPolicy", "schedulingPolicy", "queue"): "name Kueue's LocalQueue in runPolicy.schedulingPolicy.queueName",
    ("runPolicy", "schedulingPolicy", "scheduleTimeoutSeconds"): "set runPolicy.pendingDeadlineSeconds: the job fails "
    "when its replicas do not all run by then",
}


@dataclass(frozen=True, slots=True)
class Converted:
    """A job that was a TFJob.

    Attributes:
        manifest: The QuantumTrainingJob.
        notes: What has no equivalent, or another meaning; one sentence each, with file and line.
    """

    manifest: dict[str, Any]
    notes: Sequence[str]


def convert_file(path: Path, artifacts: str | None) -> list[Converted]:
    """Converts every TFJob of a file.

    Args:
        path: The file.
        artifacts: The value of spec.artifacts.uri, which a TFJob does not have.

    Raises:
        InputError: The file has a mistake or no TFJob, or the artifacts are not an address.
    """
    if artifacts is not None:
        _check_artifacts(artifacts)
    read = read_documents(path)
    found = [each for each in read.objects if each.manifest.get("kind") == "TFJob"]
    if not found and not read.mistakes:
        raise InputError(f"{read.name}: there is no TFJob in this file: name one that has one")
    converted, refused = map_with_errors(lambda document: _converted(document, artifacts), found)
    if wrong := [*read.mistakes, *refused]:
        raise InputError("\n".join(wrong))
    return converted


def _check_artifacts(uri: str) -> None:
    try:
        Artifacts.read({"uri": uri})
    except ValidationError as error:
        _, what = next(faults(error))
        raise InputError(f"--artifacts {uri}: {what}") from None


def as_yaml(converted: Sequence[Converted]) -> str:
    """Returns the jobs as a file."""
    return "---\n".join(yaml.safe_dump(each.manifest, sort_keys=False, width=120) for each in converted)


def _converted(document: Document, artifacts: str | None) -> Converted:
    old, meta = document.manifest.get("spec"), _mapping(document.manifest.get("metadata"))
    if not isinstance(old, dict) or not isinstance(old.get("tfReplicaSpecs"), dict) or not old["tfReplicaSpecs"]:
        raise InputError(document.error(["spec", "tfReplicaSpecs"], "a TFJob has its replicas here"))
    notes: list[str] = []
    roles = dict(_role(document, name, spec, notes) for name, spec in old["tfReplicaSpecs"].items())
    spec = {
        "strategy": _strategy(roles),
        "artifacts": {"uri": artifacts or f"gs://BUCKET/{meta.get('name', 'job')}"},
        **_replicas(roles),
        **_policies(old, meta),
    }
    if _is_alone(roles):
        notes.append(f"{document.where(['spec', 'tfReplicaSpecs'])}: {_ALONE}")
    elif spec["strategy"] == "None":
        notes.append(f"{document.where(['spec', 'tfReplicaSpecs', 'PS'])}: {_NO_CHIEF}")
    if rooted := [name for name, each in roles.items() if _may_be_root(each["template"])]:
        notes.append(f"{document.where(['spec', 'tfReplicaSpecs'])}: {' and '.join(rooted)}: {_NO_ROOT}")
    if artifacts is None:
        notes.append(f"{document.where(['spec'])}: a TFJob names no artifacts: put your bucket in place of BUCKET")
    kept = {name: meta[name] for name in ("name", "namespace", "labels", "annotations") if name in meta}
    job = {"apiVersion": NEWEST_API_VERSION, "kind": KIND, "metadata": kept, "spec": spec}
    notes += (document.error(("spec", *path), why) for path, why in _remarks(old))
    notes += _remaining_mistakes(document, job)
    return Converted(job, notes)


def _role(document: Document, name: str, old: object, notes: list[str]) -> tuple[Role, dict[str, Any]]:
    path = ["spec", "tfReplicaSpecs", name]
    role = _ROLES.get(str(name).lower())
    if role is None:
        raise InputError(document.error(path, "there is no such role: Chief, Master, Worker, PS and Evaluator are"))
    if not isinstance(old, dict) or not isinstance(old.get("template"), dict):
        raise InputError(document.error([*path, "template"], "a replica needs a pod template"))
    policy = old.get("restartPolicy") or "Never"
    if policy not in _SAME_MEANING:
        what = _RESTARTS.get(str(policy), f"{policy} is not Always, OnFailure, Never or ExitCode: left out")
        notes.append(document.error([*path, "restartPolicy"], what))
    unknown = sorted(set(old) - {"replicas", "template", "restartPolicy"})
    notes += (document.error([*path, each], _NO_COUNTERPART) for each in unknown)
    template, changes = _template(old["template"])
    notes += (document.error([*path, "template", "spec"], change) for change in changes)
    return role, {**({"replicas": old["replicas"]} if "replicas" in old else {}), "template": template}


def _template(old: Mapping[str, Any]) -> tuple[dict[str, Any], Sequence[str]]:
    """Returns the template as a QuantumTrainingJob needs it, and what was changed."""
    template, changes = deepcopy(dict(old)), []
    spec = _mapping(template.get("spec"))
    if spec.pop("restartPolicy", "Never") != "Never":
        changes.append("restartPolicy is left out: the operator restarts replicas, not the kubelet")
    for container in _mappings(spec.get("containers")):
        if container.get("name") == _MAIN:
            container["name"] = _OURS
        if _drop_items(container, "env", {str(name) for name in Env}):
            changes.append("the operator writes TF_CONFIG and QTJ_*: left out")
        if _drop_items(container, "ports", {"tfjob-port"}):
            changes.append("the port tfjob-port is left out: gRPC uses port 2222")
    return template, changes


def _may_be_root(template: Mapping[str, Any]) -> bool:
    """Returns whether only the image decides which user runs the program."""
    spec = _mapping(template.get("spec"))
    main = main_container(_mappings(spec.get("containers")) or [{}])
    security = {**_mapping(spec.get("securityContext")), **_mapping(main.get("securityContext"))}
    return not security.get("runAsUser") and "runAsNonRoot" not in security


def _mapping(written: object) -> dict[str, Any]:
    return written if isinstance(written, dict) else {}


def _mappings(written: object) -> list[dict[str, Any]]:
    return [each for each in written if isinstance(each, dict)] if isinstance(written, list) else []


def _drop_items(container: dict[str, Any], name: str, unwanted: set[str]) -> bool:
    """Removes items of these names from a list of the container; returns whether there were any."""
    items = container.get(name) or []
    if not any(item.get("name") in unwanted for item in _mappings(items)):
        return False
    kept = [item for item in items if not isinstance(item, dict) or item.get("name") not in unwanted]
    container.pop(name)
    container |= {name: kept} if kept else {}
    return True


def _replicas(roles: Mapping[Role, dict[str, Any]]) -> dict[str, Any]:
    """Writes the template of most roles once."""
    templates = [each["template"] for each in roles.values()]
    common = max(templates, key=templates.count)
    specs = {
        str(role): {name: value for name, value in each.items() if name != "template" or value != common}
        for role, each in roles.items()
    }
    return {"replicaSpecs": specs, "template": common}


def _strategy(roles: Mapping[Role, Any]) -> str:
    if Role.PS in roles:
        return "ParameterServer" if {Role.CHIEF, Role.WORKER} <= set(roles) else "None"
    return "None" if _is_alone(roles) else "MultiWorkerMirrored"


def _is_alone(roles: Mapping[Role, Any]) -> bool:
    """Returns whether there is one worker and nothing else, for which a TFJob sets no TF_CONFIG."""
    return set(roles) == {Role.WORKER} and roles[Role.WORKER].get("replicas", 1) == 1


def _policies(old: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    run = _mapping(old.get("runPolicy"))
    policy = {name: where[name] for where in (old, run) for name in _RUN_POLICY if name in where}
    if scheduling := _scheduling(run, meta):
        policy["schedulingPolicy"] = scheduling
    if old.get("successPolicy") == "AllWorkers":
        policy["successPolicy"] = "AllWorkers"
    suspend = {"suspend": run["suspend"]} if "suspend" in run else {}
    return suspend | ({"runPolicy": policy} if policy else {})


def _scheduling(run: Mapping[str, Any], meta: Mapping[str, Any]) -> dict[str, Any]:
    queue = _mapping(meta.get("labels")).get(LABEL_QUEUE)
    gang = "minAvailable" in _mapping(run.get("schedulingPolicy"))
    return ({"queueName": queue} if queue else {}) | ({"gang": True} if gang else {})


def _remarks(old: Mapping[str, Any]) -> Iterator[tuple[Sequence[str], str]]:
    """Yields fields that were not converted, and why."""
    run = _mapping(old.get("runPolicy"))
    fields = [
        *((name,) for name in old if name not in {"tfReplicaSpecs", "runPolicy", "successPolicy", *_RUN_POLICY}),
        *(("runPolicy", name) for name in run if name not in {*_RUN_POLICY, "suspend", "schedulingPolicy"}),
        *(("runPolicy", "schedulingPolicy", name) for name in _mapping(run.get("schedulingPolicy"))),
    ]
    for path in fields:
        yield path, _REMARKS.get(path, _NO_COUNTERPART)


def _remaining_mistakes(document: Document, job: dict[str, Any]) -> Iterator[str]:
    """Yields the rules of a QuantumTrainingJob that the result breaks."""
    for line in job_mistakes(Document(deepcopy(job), document.file, document.node)):
        what = line.removeprefix(f"{document.file}:").partition(": ")[2]
        if not what.startswith("spec.artifacts"):
            yield f"{document.file}: still to correct in the result: {what}"
