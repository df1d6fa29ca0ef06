"""`spec.program` that cannot be mounted, or has not what it is to run."""

from typing import Any

import pytest

from qtj_operator.core.invalid_spec import fault, invalid_inference
from qtj_operator.core.observed import Told
from qtj_operator.core.platform import CLUSTER
from tests.core.world import NOW, World, later, running_job, starting_job
from tests.jobs import a_container, a_job, a_template

PROGRAM = {"configMap": "iris-1a2b", "entry": "iris.py"}
SINCE = "qcnn-worker-0 has not started since 2030-01-01T12:00:00Z"
AT = "spec.template.spec.containers[trainer]"
MOUNT = 'MountVolume.SetUp failed for volume "qtj-program" : configmap "{}" not found'


def mounting(path: str, volume: str = "data") -> dict[str, Any]:
    mount = {"name": volume, "mountPath": path}
    return a_template(a_container(volumeMounts=[mount]), volumes=[{"name": volume, "emptyDir": {}}])


@pytest.mark.parametrize(
    ("template", "sentence"),
    [
        (
            mounting("/opt/program"),
            f"{AT} mounts data at /opt/program, where spec.program is: mount it elsewhere",
        ),
        (
            mounting("/opt/program/data"),
            f"{AT} mounts data at /opt/program/data, where spec.program is: mount it elsewhere",
        ),
        (
            mounting("/data", volume="qtj-program"),
            f"{AT} is in a pod with a volume qtj-program, as spec.program gets one: rename the volume",
        ),
        (mounting("/opt/programs"), None),
        (a_template(), None),
    ],
)
def test_a_template_without_a_place_for_the_program_is_refused(template: dict[str, Any], sentence: str | None) -> None:
    assert fault(a_job(program=PROGRAM, template=template), CLUSTER) == sentence
    assert fault(a_job(template=template), CLUSTER) is None, "without a program, the place is free"


def test_so_is_one_of_inference() -> None:
    job = a_job(program=PROGRAM, inference={"template": mounting("/opt/program")})

    assert fault(job, CLUSTER) is None
    assert str(invalid_inference(job, CLUSTER)).startswith("spec.inference.template.spec.containers[trainer] mounts")


def test_the_memory_of_the_trainer_is_not_asked_of_another_program() -> None:
    limited = a_template(a_container(image="localhost/qtj-trainer:1", resources={"limits": {"memory": "50Mi"}}))
    job: dict[str, Any] = {"template": limited, "circuit": {"qubits": 8}}

    assert "for the trainer" in str(fault(a_job(**job), CLUSTER))
    assert fault(a_job(program=PROGRAM, **job), CLUSTER) is None


@pytest.mark.parametrize(
    ("name", "words"),
    [
        (
            "iris-1a2b",
            ": there is no ConfigMap iris-1a2b in the namespace lab: create it, or correct spec.program.configMap",
        ),
        ("other", f" (FailedMount): {MOUNT.format('other')}"),
    ],
)
def test_a_pod_that_waits_for_the_config_map_says_which(name: str, words: str) -> None:
    told = Told(is_warning=True, reason="FailedMount", message=MOUNT.format(name))
    world = starting_job(program=PROGRAM).with_pods(since=NOW, node="node-1")
    waiting = World(job=world.job, services=world.services, pods=world.pods, told=told)

    condition = next(c for c in waiting.decide(later(minutes=1)).status.conditions or () if c.type == "Running")

    assert (condition.reason, condition.message) == ("ContainerNotStarted", f"{SINCE}{words}")


@pytest.mark.parametrize(
    ("entry", "words"),
    [
        (
            "iris.py",
            "the ConfigMap iris-1a2b has no key iris.py: create one that has it, or correct spec.program.entry",
        ),
        ("other.py", "this exit code is final"),
    ],
)
def test_a_file_that_the_config_map_lacks_is_named(entry: str, words: str) -> None:
    said = f"python: can't open file '/opt/program/{entry}': [Errno 2] No such file or directory"
    world = running_job(program=PROGRAM).with_pod("worker-1", exit_code=2, says=said)

    status = world.decide().status

    assert status.reason == "ReplicaFailed"
    assert (status.conditions or ())[-1].message == f"qcnn-worker-1 ended (exit code 2): {said}; {words}"
