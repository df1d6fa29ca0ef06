"""From a pod's manifest to the program that stands for its main container on this machine.

No image is pulled. The image of the trainer in this repository stands for `python -m qtj_trainer` in this Python
environment, as its Dockerfile says; every other container has to say what it runs.
"""

import importlib.util
import os
import re
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from math import ceil
from pathlib import Path
from typing import Any

from qtj_operator.api.contract import Env
from qtj_operator.api.job import main_container
from qtj_operator.controller.client import Object

__all__ = ["CannotStartError", "Configs", "Program", "is_trainer", "program_of"]

Configs = Mapping[tuple[str, str], Mapping[str, str]]
"""Data of ConfigMaps and Secrets, by kind and name."""

_TRAINER = "qtj-trainer"
_ENTRYPOINT = ("-m", "qtj_trainer")
"""ENTRYPOINT of Dockerfile.trainer, after its Python."""

_ENVIRONMENT = {"PYTHONUNBUFFERED": "1"}
_THREADS = ("OMP_NUM_THREADS", "TF_NUM_INTRAOP_THREADS")
"""What OpenMP and TensorFlow read the number of their threads from."""

_REFERENCE = re.compile(r"\$\$|\$\((?P<name>[^()]+)\)")


class CannotStartError(Exception):
    """A container that cannot run here; the message is one sentence.

    Attributes:
        reason: The kubelet's word for it.
    """

    def __init__(self, reason: str, message: str) -> None:
        super().__init__(message)
        self.reason = reason


@dataclass(frozen=True, slots=True, kw_only=True)
class Program:
    """What to run in place of a container.

    Attributes:
        command: The program and its arguments.
        environment: All of its environment.
        folder: Its working directory.
        notes: Sentences on what the container has and this process has not.
    """

    command: Sequence[str]
    environment: Mapping[str, str]
    folder: Path
    notes: Sequence[str] = field(default=())


def program_of(
    pod: Object,
    *,
    configs: Configs,
    replaced: Mapping[str, str],
    rewrite: Callable[[str], str] = lambda text: text,
) -> Program:
    """Returns the program of a pod's main container.

    Args:
        pod: The pod.
        configs: The ConfigMaps and Secrets that there are.
        replaced: Variables of the container that have another value here.
        rewrite: Puts addresses of this machine in place of those of the cluster.

    Raises:
        CannotStartError: It cannot run here.
    """
    container = main_container(pod["spec"]["containers"])
    own = _environment(pod, container, configs, replaced, rewrite)
    environment = {**_inherited(), **_ENVIRONMENT, **_threads(container), **own}
    words = map(_text, (*_entrypoint(container), *(container.get("args") or ())))
    command = [_expanded(rewrite(word), own) for word in words]
    return Program(
        command=(_found(command[0], environment, container), *command[1:]),
        environment=environment,
        folder=_folder(container),
        notes=tuple(_notes(pod)),
    )


def is_trainer(container: Object) -> bool:
    """Tells whether the container runs the trainer of this repository."""
    repository = container["image"].partition("@")[0]
    return repository.rpartition("/")[2].partition(":")[0] == _TRAINER and not container.get("command")


def _entrypoint(container: Object) -> Sequence[str]:
    if is_trainer(container):
        if importlib.util.find_spec("tensorflow_quantum") is None:
            raise CannotStartError(
                "ErrImagePull",
                f'image "{container["image"]}" stands for the trainer, and this Python environment lacks TensorFlow '
                "Quantum: pip install 'quantumtrainingjob[trainer]'",
            )
        return (sys.executable, *_ENTRYPOINT)
    if container.get("command"):
        command: Sequence[str] = container["command"]
        return command
    raise CannotStartError(
        "ErrImagePull",
        f'image "{container["image"]}" is not pulled on this machine, and the container {container["name"]} names no '
        f"command: set it to the program to run here, or use an image called {_TRAINER}",
    )


def _inherited() -> dict[str, str]:
    """Returns this process' environment as a container's image would have it: with this Python's programs first."""
    ours = {str(name) for name in Env}
    inherited = {name: value for name, value in os.environ.items() if name not in ours}
    path = [str(Path(sys.executable).parent), inherited.get("PATH", os.defpath)]
    return {**inherited, "PATH": os.pathsep.join(path)}


def _threads(container: Object) -> dict[str, str]:
    """Returns what a CPU limit comes to here: no more threads than it has processors, as a hint to the libraries."""
    limit = str(((container.get("resources") or {}).get("limits") or {}).get("cpu", ""))
    try:
        processors = Decimal(limit.removesuffix("m")) / (1000 if limit.endswith("m") else 1)
        count = str(max(ceil(processors), 1))
    except (ArithmeticError, ValueError):  # none, or one that no kubelet would take
        return {}
    return dict.fromkeys(_THREADS, count)


def _environment(
    pod: Object, container: Object, configs: Configs, replaced: Mapping[str, str], rewrite: Callable[[str], str]
) -> dict[str, str]:
    found: dict[str, str] = {}
    for source in container.get("envFrom") or ():
        found |= _all_of(source, configs)
    for variable in container.get("env") or ():
        name = variable["name"]
        value = _value_of(variable, pod, configs) if "valueFrom" in variable else _text(variable.get("value"))
        if value is not None:
            found[name] = replaced.get(name) or _expanded(rewrite(value), found)
    return found


def _text(value: object) -> str:
    """Returns what Kubernetes wants as text, where a user wrote a number: YAML takes one for the other too easily."""
    return "" if value is None else str(value)


def _all_of(source: Object, configs: Configs) -> Mapping[str, str]:
    prefix = source.get("prefix") or ""
    for kind, field_name in (("ConfigMap", "configMapRef"), ("Secret", "secretRef")):
        if reference := source.get(field_name):
            data = _data(kind, reference, configs)
            return {prefix + key: value for key, value in (data or {}).items()}
    return {}


def _value_of(variable: Object, pod: Object, configs: Configs) -> str | None:
    source = variable["valueFrom"]
    for kind, field_name in (("ConfigMap", "configMapKeyRef"), ("Secret", "secretKeyRef")):
        if reference := source.get(field_name):
            data = _data(kind, reference, configs)
            value = None if data is None else data.get(reference["key"])
            if value is None and not reference.get("optional"):
                raise _missing(f"key {reference['key']} of the {kind} {reference['name']}")
            return value
    path = source.get("fieldRef", {}).get("fieldPath", "")
    return _field(pod, path) if path else ""


def _data(kind: str, reference: Object, configs: Configs) -> Mapping[str, str] | None:
    data = configs.get((kind, reference["name"]))
    if data is None and not reference.get("optional"):
        raise _missing(f"{kind} {reference['name']}")
    return data


def _missing(what: str) -> CannotStartError:
    return CannotStartError(
        "CreateContainerConfigError", f"{what} is not there: write it into the same file, or make it optional"
    )


def _field(pod: Object, path: str) -> str:
    """Returns what the downward API says: of the pod itself; nothing of nodes and limits."""
    if matched := re.fullmatch(r"metadata\.(labels|annotations)\['(.+)'\]", path):
        return str((pod["metadata"].get(matched[1]) or {}).get(matched[2], ""))
    here: Any = {**pod, "status": {**(pod.get("status") or {}), "podIP": "127.0.0.1", "hostIP": "127.0.0.1"}}
    for part in path.split("."):
        here = here.get(part, "") if isinstance(here, Mapping) else ""
    return str(here)


def _expanded(text: str, variables: Mapping[str, str]) -> str:
    """Expands $(NAME) as Kubernetes does: $$ is a dollar, and what is not known stays as it is."""

    def value(found: re.Match[str]) -> str:
        return "$" if found[0] == "$$" else variables.get(found["name"], found[0])

    return _REFERENCE.sub(value, text)


def _found(name: str, environment: Mapping[str, str], container: Object) -> str:
    program = shutil.which(name, path=environment["PATH"])
    if program is None:
        raise CannotStartError(
            "RunContainerError",
            f'the program "{name}" of the container {container["name"]} is not on this machine: install it, or correct '
            "the container's command",
        )
    return str(Path(program).absolute())


def _folder(container: Object) -> Path:
    folder = Path(container.get("workingDir") or ".").absolute()
    if not folder.is_dir():
        raise CannotStartError(
            "CreateContainerError",
            f"workingDir {folder} of the container {container['name']} is no folder of this machine: make it, or leave "
            "workingDir out to run in the current one",
        )
    return folder


def _notes(pod: Object) -> list[str]:
    spec = pod["spec"]
    others = [each["name"] for each in (*(spec.get("initContainers") or ()), *spec["containers"])]
    main = main_container(spec["containers"])
    others.remove(main["name"])
    notes = [f"the container {name} is not run on this machine: only the main one is" for name in others]
    missing = (mount for mount in main.get("volumeMounts") or () if not Path(mount["mountPath"]).exists())
    notes += (f"the volume {each['name']} is not mounted at {each['mountPath']} on this machine" for each in missing)
    return notes
