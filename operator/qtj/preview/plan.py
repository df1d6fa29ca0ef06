"""`qtj plan`: what a job would create, and how much memory it would need. Nothing of the file is run."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from qtj.checks.job import check_file
from qtj.checks.validate import asks_for_a_gpu
from qtj.files.documents import read_file
from qtj.files.settings import Setting
from qtj.local.rehearsal import Rehearsal
from qtj.terminal.output_format import OutputFormat, formatted, kubectl_name
from qtj.terminal.streams import print_stdout
from qtj.terminal.text import name_list
from qtj_contract import STATES
from qtj_contract.control_groups import memory_limit
from qtj_contract.quantities import bytes_of, in_words
from qtj_operator.api.job import Job, is_trainer, main_container
from qtj_operator.api.memory import program_bytes, state_bytes
from qtj_operator.api.names import Role
from qtj_operator.api.spec import Circuit, EngineDevice

__all__ = ["memory_line", "plan_file"]

_STRATEGY = "MultiWorkerMirrored"
_MEMORY = "  memory     {}"


def plan_file(path: Path, settings: Sequence[str], form: OutputFormat | None = None) -> None:
    """Prints what each job of a file would create and need.

    Args:
        path: The file.
        settings: Fields to set.
        form: The form; None for lines for people.

    Raises:
        InputError: The file has a mistake.
    """
    file = read_file(path, [Setting.parse(text) for text in settings])
    plans = []
    for document, rehearsal in zip(file.jobs, check_file(file), strict=True):
        job = Job.parse(_as_stored(document.manifest))
        if form is None:
            print_stdout("\n".join(_lines(job, rehearsal)))
        plans.append(_plan(job, rehearsal))
    if form:
        print_stdout(formatted(plans, form, name=lambda plan: "\n".join(plan["creates"])))


def memory_line(manifest: Mapping[str, Any], rehearsal: Rehearsal) -> str:
    """Returns the line about the memory of a checked job; empty if that is unknown."""
    job = Job.parse(_as_stored(manifest))
    return _MEMORY.format(_memory(job, rehearsal)) if job.spec.circuit else ""


def _as_stored(manifest: Mapping[str, Any]) -> dict[str, Any]:
    return {**manifest, "metadata": {**manifest["metadata"], "uid": "", "resourceVersion": ""}}


def _plan(job: Job, rehearsal: Rehearsal) -> Mapping[str, Any]:
    """Returns the plan, for programs; an unknown value is null."""
    return {
        "name": job.name,
        "strategy": str(job.spec.strategy or _STRATEGY),
        "replicas": job.size,
        "creates": [kubectl_name(each) for each in rehearsal.created],
        "artifacts": job.spec.artifacts.uri,
        "memory": {"bytesPerReplica": _needed(job, rehearsal), "limit": _limit(rehearsal)},
    }


def _lines(job: Job, rehearsal: Rehearsal) -> Iterator[str]:
    yield f"{job.name}: {job.spec.strategy or _STRATEGY}, {job.size} replica{'s' if job.size > 1 else ''}"
    yield f"  Services   {name_list(rehearsal.services)}"
    yield f"  Pods       {name_list(rehearsal.pods)}"
    if rehearsal.inference:
        yield f"  Job        {rehearsal.inference['metadata']['name']}, once {_when(job)}"
    if program := job.spec.program:
        yield f"  program    {program.entry} of the ConfigMap {program.config_map}"
    yield f"  artifacts  {job.spec.artifacts.uri} on a cluster, qtj-artifacts/{job.name}/NUMBER with qtj run"
    yield _MEMORY.format(_memory(job, rehearsal))
    if job.spec.circuit and job.spec.circuit.engine_device:
        yield f"  engine     {_engine(job.spec.circuit, rehearsal)}"


def _engine(circuit: Circuit, rehearsal: Rehearsal) -> str:
    """Returns where circuits are computed, as far as the job says it."""
    if circuit.engine_device == EngineDevice.CPU:
        return "on the processor"
    needed, room = STATES * state_bytes(circuit), bytes_of(circuit.gpu_memory)
    named = f"; it has {circuit.gpu_memory}" if room is not None else ""
    text = f"at least {in_words(needed)} of it for {circuit.qubits} qubits{named}"
    must = circuit.engine_device == EngineDevice.GPU
    if not asks_for_a_gpu(_main(rehearsal)):
        return (
            f"on a GPU, for which the job does not ask; {text}" if must else "on the processor: the job asks for no GPU"
        )
    if room is not None and needed > room:
        return f"on the processor: a GPU needs {text}"
    return f"on a GPU{'' if must else ', if it can be used'}; {text}"


def _when(job: Job) -> str:
    own = job.inference and job.inference.template
    stored = f" as {job.named_weights}" if job.named_weights else ""
    return f"the weights are stored{stored}{', from its own template' if own else ''}"


def _memory(job: Job, rehearsal: Rehearsal) -> str:
    limit = _limit(rehearsal)
    allowed = f"the limit is {limit}" if limit else "there is no limit"
    circuit, needed = job.spec.circuit, _needed(job, rehearsal)
    if circuit is None or needed is None:
        return f"unknown without spec.circuit; {allowed}"
    program = _program(job, circuit, rehearsal)
    beside = f", and {in_words(program)} for the trainer" if program else ", and the memory of the program itself"
    return (
        f"at least {in_words(needed)} per replica for {circuit.qubits} qubits ({STATES} states of "
        f"{in_words(state_bytes(circuit))}{beside}); {allowed}{_too_large_here(job, needed)}"
    )


def _needed(job: Job, rehearsal: Rehearsal) -> int | None:
    circuit = job.spec.circuit
    return state_bytes(circuit) * STATES + _program(job, circuit, rehearsal) if circuit else None


def _program(job: Job, circuit: Circuit, rehearsal: Rehearsal) -> int:
    return program_bytes(circuit, is_trainer=is_trainer(_main(rehearsal)), replicas=job.training_size)


def _main(rehearsal: Rehearsal) -> Mapping[str, Any]:
    return main_container(rehearsal.pods[0]["spec"]["containers"])


def _limit(rehearsal: Rehearsal) -> str | None:
    limits = (_main(rehearsal).get("resources") or {}).get("limits") or {}
    return str(limits["memory"]) if "memory" in limits else None


def _too_large_here(job: Job, needed: int) -> str:
    """Returns the end of the line about memory, if this machine has too little for all replicas of `qtj run`."""
    holders = sum(1 for replica in job.replicas() if replica.role != Role.PS)
    present = memory_limit()
    if needed * holders <= present:
        return ""
    each = f"{holders} such replicas" if holders > 1 else "that"
    return f"; {each} will not fit on this machine with qtj run, because it has {in_words(present)}"
