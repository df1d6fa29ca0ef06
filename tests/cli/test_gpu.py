"""Circuits on a GPU: what is said before a job starts."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj

NO_GPU = "limits: {memory: 2Gi}"
GPU = "limits: {memory: 2Gi, nvidia.com/gpu: 1}"
PART = "limits: {memory: 2Gi, nvidia.com/mig-1g.5gb: 1}"


def write(folder: Path, circuit: str, limits: str) -> None:
    job = GOOD.replace("    qubits: 8\n", f"    qubits: 8\n    {circuit}\n").replace(NO_GPU, limits)
    (folder / "job.yaml").write_text(job)


@pytest.mark.parametrize(
    ("device", "limits", "count"), [("gpu", NO_GPU, 1), ("gpu", GPU, 0), ("gpu", PART, 0), ("auto", NO_GPU, 0)]
)
def test_a_job_for_a_gpu_that_asks_for_none_is_warned_of(folder: Path, device: str, limits: str, count: int) -> None:
    write(folder, f"engineDevice: {device}", limits)

    answer = qtj("validate", "job.yaml")

    warning = (
        "job.yaml:9: spec.circuit.engineDevice: warning: it is gpu, and trainer of spec.template asks for no GPU:"
        " add limits {nvidia.com/gpu: 1}\n"
    )
    assert (answer.code, answer.output) == (0, "job.yaml: qcnn is valid\n" + warning * count)


@pytest.mark.parametrize(
    ("circuit", "limits", "line"),
    [
        ("engineDevice: cpu", GPU, "on the processor"),
        ("engineDevice: gpu", GPU, "on a GPU; at least 6 KiB of it for 8 qubits"),
        ("engineDevice: gpu", NO_GPU, "on a GPU, for which the job does not ask; at least 6 KiB of it for 8 qubits"),
        ("engineDevice: auto", NO_GPU, "on the processor: the job asks for no GPU"),
        (
            "{engineDevice: auto, gpuMemory: 80Gi}",
            GPU,
            "on a GPU, if it can be used; at least 6 KiB of it for 8 qubits; it has 80Gi",
        ),
        (
            "{engineDevice: auto, gpuMemory: 5Ki}",
            GPU,
            "on the processor: a GPU needs at least 6 KiB of it for 8 qubits; it has 5Ki",
        ),
    ],
)
def test_the_plan_says_which_engine_computes(folder: Path, circuit: str, limits: str, line: str) -> None:
    write(folder, circuit.strip("{}").replace(", ", "\n    "), limits)

    lines = qtj("plan", "job.yaml").output.splitlines()

    assert f"  engine     {line}" in lines


def test_the_memory_of_a_gpu_that_is_not_used_is_refused(folder: Path) -> None:
    write(folder, "gpuMemory: 80Gi", NO_GPU)

    answer = qtj("validate", "job.yaml")

    assert answer.code == 2
    assert (
        "gpuMemory is for circuits on a GPU: set engineDevice to gpu or auto, or leave gpuMemory out" in answer.errors
    )
