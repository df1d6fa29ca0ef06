"""Mistakes in the arguments of this project's trainer: it is asked itself, before there is a pod.

It runs as a process, for importing it sets variables that programs of one's own would inherit.
"""

import importlib.util
import os
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from qtj_operator.api.contract import Env
from qtj_operator.api.job import main_container
from qtj_operator.local.program import is_trainer

__all__ = ["argument_mistakes"]

Path = tuple[int | str, ...]

_INFER = ("infer",)
"""The arguments of inference when they are left out."""


def argument_mistakes(spec: Mapping[str, Any], templates: Mapping[Path, Any]) -> Iterator[tuple[Path, str]]:
    """Yields what the trainer does not understand, where it is installed.

    Args:
        spec: A spec that its models accept.
        templates: Its pod templates, by where they stand.
    """
    if importlib.util.find_spec("tensorflow_quantum") is None:  # the trainer needs it to answer
        return
    qubits = (spec.get("circuit") or {}).get("qubits")
    told = {str(Env.QUBITS): str(qubits)} if qubits else {}
    for path, template in templates.items():
        containers = template["spec"]["containers"]
        main = main_container(containers)
        if is_trainer(main) and (sentence := _answer(main.get("args") or (), told)):
            yield (*path, "spec", "containers", containers.index(main), "args"), sentence
    inference = spec.get("inference")
    if not inference or (inference.get("template") and not inference.get("args")):
        return
    used = [inference["template"]] if inference.get("template") else templates.values()
    trained = any(is_trainer(main_container(template["spec"]["containers"])) for template in used)
    if trained and not inference.get("command") and (sentence := _answer(inference.get("args") or _INFER, told)):
        yield ("spec", "inference", "args"), sentence


def _answer(arguments: Sequence[str], told: Mapping[str, str]) -> str | None:
    """Returns what the trainer says against its arguments, in a pod whose environment tells it so much."""
    if any("$(" in argument for argument in arguments):  # variables are known in the pod
        return None
    ours = {name: value for name, value in os.environ.items() if name not in set(Env)}
    asked = subprocess.run(  # noqa: S603  this Python
        [sys.executable, "-m", "qtj_trainer", "--check", *arguments],
        env={**ours, **told, Env.TERMINATION_LOG: os.devnull},
        capture_output=True,
        text=True,
        check=False,
    )
    words = asked.stderr.strip().rpartition("error: ")[2]
    return words.replace("\n", " ") if asked.returncode else None
