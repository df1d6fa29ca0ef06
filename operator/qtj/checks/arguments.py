"""Mistakes in the arguments of this project's trainer: its own parser checks them, before there is a pod.

It runs as a process, because importing it sets variables that a user's programs would inherit. A file may come from a
stranger: this process has none of its variables, and imports nothing from its folder.
"""

import importlib.util
import json
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qtj_contract import Env
from qtj_operator.api.job import is_trainer, main_container
from qtj_operator.api.names import Role
from qtj_operator.api.spec import Circuit
from qtj_operator.manifests.pod import circuit_environment

__all__ = ["argument_mistakes"]

Path = tuple[int | str, ...]

_OF_ALL: Path = ("spec", "template")
_INFERENCE: Path = ("spec", "inference", "template")
_EVALUATOR = json.dumps({"cluster": {}, "task": {"type": Role.EVALUATOR.task_type, "index": 0}})


def argument_mistakes(spec: Mapping[str, Any], templates: Mapping[Path, Any]) -> Iterator[tuple[Path, str]]:
    """Yields the trainer's errors about its arguments, where it is installed.

    Args:
        spec: A spec that its models accept.
        templates: Its pod templates, by their paths.
    """
    if spec.get("program"):  # it gets the arguments
        return
    if importlib.util.find_spec("tensorflow_quantum") is None:  # the trainer needs it to answer
        return
    environment = _trainer_environment(spec)
    for path, arguments in _trainer_arguments(spec, templates):
        if sentence := _complaint(arguments, environment):
            yield path, sentence


def _trainer_environment(spec: Mapping[str, Any]) -> Mapping[str, str]:
    """Returns the variables of a pod that describe the job.

    If there is an evaluator, all arguments are checked as if they were its own: it needs what the others store.
    """
    circuit = spec.get("circuit")
    environment = circuit_environment(Circuit.model_validate(circuit) if circuit else None)
    return {**environment, Env.TF_CONFIG: _EVALUATOR} if Role.EVALUATOR in spec["replicaSpecs"] else environment


def _trainer_arguments(spec: Mapping[str, Any], templates: Mapping[Path, Any]) -> Iterator[tuple[Path, Sequence[str]]]:
    """Yields the arguments of the trainer in the job's pods, with their paths."""
    inference = spec.get("inference") or {}
    own = inference.get("args")
    unused = {_INFERENCE} if own is not None else set()
    if all((replica or {}).get("template") for replica in spec["replicaSpecs"].values()):
        unused.add(_OF_ALL)
    for path, template in templates.items():
        containers = template["spec"]["containers"]
        main = main_container(containers)
        if path not in unused and is_trainer(main):
            yield (*path, "spec", "containers", containers.index(main), "args"), main.get("args") or ()
    used = [inference["template"]] if inference.get("template") else templates.values()
    trained = any(is_trainer(main_container(template["spec"]["containers"])) for template in used)
    if own is not None and trained and not inference.get("command"):
        yield ("spec", "inference", "args"), own


def _complaint(arguments: Sequence[str], environment: Mapping[str, str]) -> str | None:
    """Returns the trainer's error about its arguments, in a pod with these variables; None without one."""
    if any("$(" in argument for argument in arguments):  # variables are known in the pod
        return None
    ours = {name: value for name, value in os.environ.items() if name not in set(Env)}
    answer = subprocess.run(
        [sys.executable, "-P", "-m", "qtj_trainer", "--check", *arguments],
        env={**ours, **environment, Env.TERMINATION_LOG: os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    words = answer.stderr.strip().rpartition("error: ")[2]
    return " ".join(words.split()) if answer.returncode else None
