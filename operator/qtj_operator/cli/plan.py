"""`qtj plan`: what a job would take, before it takes it."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

from qtj_operator.api.contract import STATES
from qtj_operator.api.job import Job, main_container
from qtj_operator.api.memory import state_bytes
from qtj_operator.api.names import Role
from qtj_operator.api.quantities import in_words
from qtj_operator.cli.check import checked
from qtj_operator.cli.manifests import Document, read_file
from qtj_operator.cli.settings import Setting
from qtj_operator.local.addresses import NoFreePortError
from qtj_operator.local.calibration import LIMIT_SECONDS, calibrate
from qtj_operator.local.memory import machine_memory
from qtj_operator.local.program import CannotStartError, Configs, is_trainer
from qtj_operator.local.rehearsal import Rehearsal

__all__ = ["plan_file"]

_FEW = 4
_TENSORFLOW = "0.6 GiB"
"""Resident memory of a worker with 8 qubits, as measured with TensorFlow 2.18."""


def plan_file(path: Path, settings: Sequence[str], console: Console, *, calibrated: bool) -> None:
    """Prints what each job of a file would create and take.

    Raises:
        InputError: The file is at fault.
    """
    file = read_file(path, [Setting.parse(text) for text in settings])
    for document in file.jobs:
        rehearsal = checked(document)
        for line in _lines(document, rehearsal):
            console.print(line, soft_wrap=True, markup=False)
        if calibrated:
            console.print(f"  time       {_time(rehearsal, file.configs)}", soft_wrap=True, markup=False)


def _lines(document: Document, rehearsal: Rehearsal) -> Iterator[str]:
    job = Job.parse(
        {**document.manifest, "metadata": {**document.manifest["metadata"], "uid": "", "resourceVersion": ""}}
    )
    yield f"{job.name}: {job.spec.strategy or 'MultiWorkerMirrored'}, {job.size} replicas"
    yield f"  Services   {_names(rehearsal.services)}"
    yield f"  Pods       {_names(rehearsal.pods)}"
    if rehearsal.inference:
        yield f"  Job        {rehearsal.inference['metadata']['name']}, once {_when(job)}"
    yield f"  artifacts  {job.spec.artifacts.uri} on a cluster, qtj-artifacts/{job.name} with qtj run"
    yield f"  memory     {_memory(job, rehearsal)}"


def _when(job: Job) -> str:
    own = job.inference and job.inference.template
    stored = f" as {job.named_weights}" if job.named_weights else ""
    return f"the weights are stored{stored}{', from a template of its own' if own else ''}"


def _names(manifests: Sequence[dict[str, Any]]) -> str:
    names = [each["metadata"]["name"] for each in manifests]
    return ", ".join(names) if len(names) <= _FEW else f"{names[0]} ... {names[-1]} ({len(names)})"


def _memory(job: Job, rehearsal: Rehearsal) -> str:
    limits = (main_container(rehearsal.pods[0]["spec"]["containers"]).get("resources") or {}).get("limits") or {}
    allowed = f"the limit is {limits['memory']}" if "memory" in limits else "there is no limit"
    circuit = job.spec.circuit
    if circuit is None:
        return f"unknown without spec.circuit; {allowed}"
    state, states = state_bytes(circuit), STATES * (circuit.filters or 1)
    return (
        f"{in_words(state * states)} per replica for {circuit.qubits} qubits ({states} states of {in_words(state)}), "
        f"beside about {_TENSORFLOW} for TensorFlow; {allowed}{_too_large_here(job, state * states)}"
    )


def _too_large_here(job: Job, needed: int) -> str:
    """Returns the end of the line on memory when `qtj run` has too little of it for all replicas side by side."""
    holders = sum(1 for replica in job.replicas() if replica.role != Role.PS)
    present = machine_memory()
    if needed * holders <= present:
        return ""
    each = f"{holders} such replicas" if holders > 1 else "that"
    return f"; {each} will not fit this machine with qtj run, for it has {in_words(present)}"


def _time(rehearsal: Rehearsal, configs: Configs) -> str:
    pod = rehearsal.pods[0]
    if not is_trainer(main_container(pod["spec"]["containers"])):
        return "unknown: only the trainer of this project can be measured"
    try:
        pace = calibrate(pod, configs)
    except (CannotStartError, NoFreePortError) as problem:
        return f"unknown: {problem}"
    except TimeoutError:
        return f"unknown: no step was done within {LIMIT_SECONDS:.0f} s on this machine"
    if pace.steps is None:
        return f"{_duration(pace.step_seconds)} per step, by one process on this machine"
    epoch = pace.step_seconds * pace.steps
    return (
        f"{_duration(epoch)} per epoch ({pace.steps} steps of {_duration(pace.step_seconds)}), "
        f"{_duration(epoch * pace.epochs)} for {pace.epochs} epochs, by one process on this machine"
    )


def _duration(seconds: float) -> str:
    if seconds < 1:
        return f"{seconds * 1000:.0f} ms"
    return f"{seconds:.1f} s" if seconds < 120 else f"{seconds / 60:.1f} min"  # noqa: PLR2004  two minutes
