"""What a job would take is told before it takes it."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD, INFERENCE
from tests.cli.qtj import qtj


@pytest.mark.parametrize(
    ("qubits", "replicas", "said"),
    [
        (8, 2, []),
        (40, 2, ["2 such replicas will not fit on this machine with qtj run"]),
        (40, 1, ["that will not fit on this machine with qtj run"]),
    ],
)
def test_memory_is_compared_with_what_this_machine_has(
    folder: Path, qubits: int, replicas: int, said: list[str]
) -> None:
    job = GOOD.replace("qubits: 8", f"qubits: {qubits}").replace("replicas: 2", f"replicas: {replicas}")
    (folder / "job.yaml").write_text(job.replace("          resources:\n            limits: {memory: 2Gi}\n", ""))

    answer = qtj("plan", "job.yaml")

    (line,) = (line for line in answer.output.splitlines() if line.startswith("  memory"))
    assert answer.code == 0
    assert [part.partition(", because it has ")[0] for part in line.split("; ")[2:]] == said


def test_the_plan_says_where_the_weights_are_and_that_inference_has_its_own_template(folder: Path) -> None:
    weights = GOOD.replace("/qcnn\n", "/qcnn\n    weights: w.h5\n")
    (folder / "job.yaml").write_text(weights + INFERENCE)

    lines = qtj("plan", "job.yaml").output.splitlines()

    assert (
        "  Job        qcnn-inference, once the weights are stored as gs://bucket/qcnn/w.h5, from its own template"
        in lines
    )


@pytest.mark.parametrize("replicas", [12, 500])
def test_the_plan_names_the_last_of_many_replicas_by_its_number(folder: Path, replicas: int) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("replicas: 2", f"replicas: {replicas}"))

    lines = qtj("plan", "job.yaml").output.splitlines()

    names = f"qcnn-worker-0 ... qcnn-worker-{replicas - 1} ({replicas})"
    assert {f"  Services   {names}", f"  Pods       {names}"} <= set(lines)


@pytest.mark.parametrize(("replicas", "said"), [(1, "1 replica"), (2, "2 replicas")])
def test_the_plan_counts_replicas(folder: Path, replicas: int, said: str) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("replicas: 2", f"replicas: {replicas}"))

    assert qtj("plan", "job.yaml").output.startswith(f"qcnn: MultiWorkerMirrored, {said}\n")
