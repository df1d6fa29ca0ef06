"""What a job would take and create is told before it does: memory, engine, objects."""

import json
from pathlib import Path

import pytest
import yaml

from qtj_operator.api.job import Job
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from tests.cli.good_job import GOOD, INFERENCE
from tests.cli.qtj import qtj
from tests.jobs import job_object

NO_GPU = "limits: {memory: 2Gi}"
GPU = "limits: {memory: 2Gi, nvidia.com/gpu: 1}"
PART = "limits: {memory: 2Gi, nvidia.com/mig-1g.5gb: 1}"
EXAMPLE = Path(__file__).parents[2] / "examples/qcnn.yaml"


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


def test_the_example_is_rendered_exactly_as_the_operator_builds_it() -> None:
    found = list(yaml.safe_load_all(qtj("render", str(EXAMPLE)).output))

    uid = found[0]["metadata"]["ownerReferences"][0]["uid"]
    manifest = yaml.safe_load(EXAMPLE.read_text())
    manifest["metadata"] |= {"namespace": "default", "uid": uid, "resourceVersion": ""}
    job = Job.parse(manifest)
    replicas = list(job.replicas())
    variables = {each["name"]: each.get("value") for each in found[3]["spec"]["containers"][0]["env"]}

    assert found[:2] == [replica_service(job, replica) for replica in replicas]
    assert found[2:4] == [replica_pod(job, replica, 1) for replica in replicas]
    assert found[4]["kind"] == "Job"
    assert json.loads(variables["TF_CONFIG"]) == {
        "cluster": {"worker": [f"qcnn-worker-{index}.default.svc:2222" for index in (0, 1)]},
        "task": {"type": "worker", "index": 1},
    }


def test_a_suspended_job_is_shown_as_it_would_run(folder: Path) -> None:
    (folder / "job.yaml").write_text(GOOD)

    answer = qtj("render", "job.yaml", "--set", "spec.suspend=true")

    assert answer.output.count("kind: Pod\n") == 2


def test_the_plan_names_objects_and_memory() -> None:
    answer = qtj("plan", str(EXAMPLE), "--set", "spec.circuit.qubits=23")

    assert "Pods       qcnn-worker-0, qcnn-worker-1" in answer.output
    assert "at least 619 MiB per replica for 23 qubits (3 states of 64 MiB, and 427 MiB for" in answer.output
    assert "the limit is 2Gi" in answer.output


@pytest.fixture
def file(folder: Path) -> str:
    job = job_object(tensorboard={"port": 80})
    job["metadata"] = {"name": "qcnn"}
    (folder / "job.yaml").write_text(yaml.safe_dump(job))
    return "job.yaml"


def test_it_is_rendered(file: str) -> None:
    answer = qtj("render", file)

    rendered = {(each["kind"], each["metadata"]["name"]): each for each in yaml.safe_load_all(answer.output)}
    assert ("Deployment", "qcnn-tensorboard") in rendered
    assert rendered["Service", "qcnn-tensorboard"]["spec"]["ports"][0]["port"] == 80


def test_it_is_part_of_the_plan(file: str) -> None:
    (plan,) = [json.loads(qtj("plan", file, "-o", "json").output)]

    assert "deployment.apps/qcnn-tensorboard" in plan["creates"]


@pytest.mark.usefixtures("file")
@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        ("port=0", "job.yaml: spec.tensorboard.port: 0 is too small: this has to be at least 1"),
        ("port=http", "spec.tensorboard.port: this has to be a whole number, without quotes"),
        ("image=Board", "spec.tensorboard.image: this is no name of an image: write REGISTRY/NAME:TAG"),
        ("serviceType=Ingress", "spec.tensorboard.serviceType: this has to be ClusterIP, NodePort or LoadBalancer"),
        ("resources.limits.cpu=0.5", "spec.tensorboard.resources.limits.cpu: this is no quantity: write for example"),
    ],
)
def test_a_mistake_is_found_before_anything_is_created(value: str, sentence: str) -> None:
    answer = qtj("render", "job.yaml", "--set", f"spec.tensorboard.{value}")

    assert answer.code == 2
    assert sentence.rpartition("job.yaml: ")[2] in answer.errors
