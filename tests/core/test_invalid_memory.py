"""Circuits that do not fit the memory of their containers."""

from typing import Any

import pytest

from qtj_operator.core import invalid_spec
from qtj_operator.core.platform import CLUSTER
from tests.core.refused import sentence, template
from tests.core.world import new_job


def limited(memory: Any) -> dict[str, Any]:
    return template(resources={"limits": {"memory": memory}})


def test_a_circuit_that_does_not_fit_its_memory_is_refused_with_the_numbers() -> None:
    assert sentence(circuit={"qubits": 30}, template=limited("16Gi")) == (
        "30 qubits need at least 24 GiB per replica (3 states of 8 GiB), and the limit of "
        "spec.template.spec.containers[trainer] is 16Gi: raise resources.limits.memory or lower circuit.qubits"
    )


@pytest.mark.parametrize(
    ("circuit", "refused"),
    [
        ({"qubits": 29}, False),
        ({"qubits": 29, "precision": "double"}, True),
        ({"qubits": 29, "filters": 64}, False),
    ],
)
def test_precision_counts_and_filters_take_turns(circuit: dict[str, Any], refused: bool) -> None:
    decision = new_job(circuit=circuit, template=limited("16Gi")).decide()

    assert (decision.status.reason == "InvalidSpec") == refused


def test_a_trainer_needs_memory_beside_its_states() -> None:
    ours = {"image": "registry.example/qtj-trainer:1", "resources": {"limits": {"memory": "24Gi"}}}

    assert sentence(circuit={"qubits": 30}, template=template(**ours)) == (
        "30 qubits need at least 24.42 GiB per replica (3 states of 8 GiB, and 427 MiB for the trainer), and the limit "
        "of spec.template.spec.containers[trainer] is 24Gi: raise resources.limits.memory or lower circuit.qubits"
    )


def test_a_limit_below_that_of_the_trainer_alone_is_refused_for_any_circuit() -> None:
    ours = {"image": "qtj-trainer", "resources": {"limits": {"memory": "256Mi"}}}

    assert "4 qubits need at least 427 MiB per replica" in sentence(circuit={"qubits": 4}, template=template(**ours))


def test_a_replica_that_trains_alone_needs_no_memory_for_peers() -> None:
    ours = template(image="qtj-trainer", resources={"limits": {"memory": "360Mi"}})

    assert "4 qubits need at least 382 MiB per replica" in sentence(circuit={"qubits": 4}, template=ours, workers=1)


def test_inference_needs_less_memory_than_training() -> None:
    ours = template(image="qtj-trainer", resources={"limits": {"memory": "360Mi"}})
    job = new_job(circuit={"qubits": 4}, inference={"template": ours}).job

    assert invalid_spec.invalid_inference(job, CLUSTER) is None


def test_a_circuit_may_need_exactly_its_limit() -> None:
    assert new_job(circuit={"qubits": 30}, template=limited("24Gi")).decide().status.attempt == 1


@pytest.mark.parametrize(
    "container", [{}, {"resources": {}}, {"resources": {"limits": None}}, {"resources": {"limits": {"memory": "?"}}}]
)
def test_without_a_limit_that_can_be_read_nothing_is_refused(container: dict[str, Any]) -> None:
    assert new_job(circuit={"qubits": 40}, template=template(**container)).decide().status.attempt == 1


def test_a_roles_own_limit_counts() -> None:
    roles = {"Worker": {"template": limited("1Gi")}}

    assert "the limit of spec.replicaSpecs.Worker.template.spec.containers[trainer] is 1Gi" in sentence(
        circuit={"qubits": 30}, template=limited("64Gi"), replicaSpecs=roles
    )


ON_A_GPU = {"qubits": 30, "engineDevice": "gpu", "gpuMemory": "16Gi"}


def test_a_circuit_that_does_not_fit_its_gpu_is_refused_with_the_numbers() -> None:
    assert sentence(circuit=ON_A_GPU, template=limited("64Gi")) == (
        "30 qubits need at least 24 GiB of a GPU (3 states of 8 GiB), and circuit.gpuMemory is 16Gi: "
        "lower circuit.qubits, or set circuit.engineDevice to auto"
    )


@pytest.mark.parametrize("change", [{"engineDevice": "auto"}, {"gpuMemory": "24Gi"}, {"gpuMemory": None}])
def test_a_circuit_that_fits_its_gpu_or_the_processor_is_not(change: dict[str, Any]) -> None:
    circuit = {name: value for name, value in {**ON_A_GPU, **change}.items() if value is not None}

    assert new_job(circuit=circuit, template=limited("64Gi")).decide().status.attempt == 1


@pytest.mark.parametrize(("circuit", "refused"), [({"engineDevice": "auto"}, True), ({}, False)])
def test_a_template_may_name_the_device_of_the_engine_where_the_job_does_not(
    circuit: dict[str, Any], refused: bool
) -> None:
    named = template(env=[{"name": "QTJ_ENGINE_DEVICE", "value": "gpu"}])

    decision = new_job(circuit={"qubits": 4, **circuit}, template=named).decide()

    assert (decision.status.reason == "InvalidSpec") == refused
