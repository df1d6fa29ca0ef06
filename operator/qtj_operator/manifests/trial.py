"""The job of one trial: the template of its study, with the values of its point and its seed.

A value reaches the program in three ways: in place of `${name}`; where the template has no `${name}`, as the argument
`--name=VALUE`; and in any case as `program.parameters["name"]`, by a variable of the contract.
"""

import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from copy import deepcopy
from typing import Any

from qtj_contract import Env
from qtj_operator.api.copied_labels import NO_LABELS, CopiedLabels
from qtj_operator.api.digest import digest_of
from qtj_operator.api.names import API_VERSION, GROUP, KIND
from qtj_operator.api.spelling import nearest
from qtj_operator.api.study import STUDY_KIND, StudySpec
from qtj_operator.api.study_parameters import SEED, Value, option_of, text_of
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.program_arguments import containers_of, set_argument

__all__ = ["LABEL_STUDY", "LABEL_TRIAL", "misspelt_reference", "most_bytes", "owned_trial", "trial_job", "trial_name"]

LABEL_STUDY = f"{GROUP}/study"
LABEL_TRIAL = f"{GROUP}/trial"

_REFERENCE = re.compile(r"\$\{([-_A-Za-z0-9]+)\}")

_MOST_COMPARED = 16
"""Names of a template that are compared with those of parameters: each takes milliseconds, and there may be thousands.
"""


def trial_name(study: str, number: int) -> str:
    """Name of the job of a trial, for example `rates-7`."""
    return f"{study}-{number}"


def trial_job(
    study: Mapping[str, str], template: Mapping[str, Any], number: int, values: Mapping[str, Value], seed: int | None
) -> Manifest:
    """Returns the job of a trial.

    Args:
        study: The name and the namespace of the study.
        template: The jobTemplate, as its author wrote it.
        number: The number of the trial.
        values: The values of its point.
        seed: Its seed; None for the program's own.
    """
    given = {**values, **({} if seed is None else {SEED: seed})}
    texts = {name: text_of(value) for name, value in given.items()}
    used = set(_references(template))
    spec = _substituted(deepcopy(dict(template)), texts)
    identity = _identity(study, spec.get("artifacts"))
    spec["artifacts"] = _artifacts(spec.get("artifacts"), number)
    labels = {LABEL_STUDY: study["name"], LABEL_TRIAL: str(number)}
    meta = {"name": trial_name(study["name"], number), "namespace": study["namespace"], "labels": labels}
    job = {"apiVersion": API_VERSION, "kind": KIND, "metadata": meta, "spec": spec}
    for name in (each for each in texts if each not in used):
        set_argument(job, option_of(name), texts[name])
    for container in containers_of(spec):
        _add_variables(
            container,
            {
                Env.PARAMETERS: json.dumps(given),
                Env.STUDY: json.dumps({"name": study["name"], "id": identity}),
            },
        )
    return job


def misspelt_reference(spec: StudySpec) -> tuple[str, str] | None:
    """Returns a `${name}` that is no parameter but almost one, and that parameter; a shell may have other names."""
    known = {*(each.name for each in spec.parameters), *((SEED,) if spec.seeds else ())}
    unknown = [name for name in dict.fromkeys(_references(spec.job_template)) if name not in known]
    return next(((name, near) for name in unknown[:_MOST_COMPARED] if (near := nearest(name, known))), None)


def most_bytes(template: Mapping[str, Any], points: Iterable[Mapping[str, Value]]) -> int:
    """Returns how large a job of a trial may be at most, without building it: a value may be in it thousands of times.

    Args:
        template: The jobTemplate.
        points: The values of trials.
    """
    longest: dict[str, int] = {}
    for name, value in (each for point in points for each in point.items()):
        longest[name] = max(longest.get(name, 0), _bytes(text_of(value)))
    uses, places = Counter(_references(template)), sum(1 for _ in containers_of(template))
    written = sum(2 * len(name) + size for name, size in longest.items())  # as an argument, and in the variable
    text = _bytes(json.dumps(template, ensure_ascii=False))
    return text + sum(uses[name] * each for name, each in longest.items()) + places * 2 * written


def _bytes(text: str) -> int:
    return len(text.encode(errors="replace"))


def _references(value: Any) -> Iterator[str]:
    if isinstance(value, str):
        yield from _REFERENCE.findall(value)
    elif isinstance(value, Mapping):
        for each in value.values():
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _substituted(value: Any, texts: Mapping[str, str]) -> Any:
    if isinstance(value, str):
        return _REFERENCE.sub(lambda match: texts.get(match[1], match[0]), value)
    if isinstance(value, dict):
        return {key: _substituted(each, texts) for key, each in value.items()}
    return [_substituted(each, texts) for each in value] if isinstance(value, list) else value


def _artifacts(artifacts: Any, number: int) -> Any:
    """Gives each trial a folder of its own; what is wrong with the template is for its checks to say."""
    if not isinstance(artifacts, dict) or not isinstance(artifacts.get("uri"), str):
        return artifacts
    return {**artifacts, "uri": f"{artifacts['uri'].rstrip('/')}/{number}"}


def _identity(study: Mapping[str, str], artifacts: Any) -> str:
    """Returns an id that the study has again after it was deleted and applied: stored results are found by the spec."""
    uri = artifacts.get("uri") if isinstance(artifacts, dict) else None
    return digest_of([study["namespace"], study["name"], uri])


def _add_variables(container: dict[str, Any], texts: Mapping[Env, str]) -> None:
    variables = container.get("env") or []
    if isinstance(variables, list):
        container["env"] = [*variables, *({"name": str(name), "value": text} for name, text in texts.items())]


def owned_trial(study: Mapping[str, Any], trial: TrialStatus, copied: CopiedLabels = NO_LABELS) -> Manifest:
    """Returns the job of a trial on a cluster, owned by its study.

    The study sees to its time to live: a job that deleted itself might do so before its result is in the status of the
    study. It does not block the deletion of its study in the foreground, which would need one more right.

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
