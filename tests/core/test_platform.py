"""What outlives a pod depends on what it runs on."""

from dataclasses import replace

import pytest

from qtj_operator.api.status import WeightsStatus
from qtj_operator.core.invalid_spec import fault, invalid_inference
from qtj_operator.core.platform import CLUSTER, Platform
from qtj_operator.core.started import started
from qtj_operator.core.trained import trained
from tests.core.world import NOW, new_job, running_job
from tests.jobs import a_job, a_template

MACHINE = Platform(keeps_files=True, artifacts={("lab", "qcnn"): "file:///home/ada/qtj-artifacts/qcnn/1"})
IN_A_FOLDER = {"uri": "file:///results/qcnn"}


def test_a_folder_of_the_container_is_refused_on_a_cluster_and_fine_on_one_machine() -> None:
    job = a_job(artifacts=IN_A_FOLDER)

    assert "is on no volume" in (fault(job, CLUSTER) or "")
    assert fault(job, MACHINE) is None


def test_inference_in_a_template_of_its_own_reads_a_folder_on_one_machine() -> None:
    job = a_job(artifacts=IN_A_FOLDER, inference={"template": a_template()})
    seen = replace(new_job(), job=job)

    assert "inference could not read the weights" in (invalid_inference(job, CLUSTER) or "")
    assert invalid_inference(job, MACHINE) is None
    assert len(started(seen, NOW).events) == 1
    assert started(replace(seen, platform=MACHINE), NOW).events == ()


@pytest.mark.parametrize(
    ("weights", "address"),
    [
        ("w.h5", "file:///home/ada/qtj-artifacts/qcnn/1/w.h5"),
        ("gs://bucket/qcnn/best/w.h5", "file:///home/ada/qtj-artifacts/qcnn/1/best/w.h5"),
        ("gs://bucket/other/w.h5", "gs://bucket/other/w.h5"),
    ],
)
def test_weights_below_the_artifacts_are_where_the_platform_has_the_artifacts(weights: str, address: str) -> None:
    job = a_job(artifacts={"uri": "gs://bucket/qcnn", "weights": weights})

    assert MACHINE.named_weights(job) == address
    assert replace(MACHINE, artifacts={}).named_weights(job) == job.named_weights == CLUSTER.named_weights(job)


def test_a_job_that_names_no_weights_has_none_on_any_platform() -> None:
    assert MACHINE.named_weights(a_job()) is None


def test_weights_that_the_spec_names_are_recorded_where_the_platform_has_them() -> None:
    artifacts = {"uri": "gs://bucket/qcnn", "weights": "w.h5"}
    seen = running_job(artifacts=artifacts).with_pod("worker-0", exit_code=0)

    move = trained(replace(seen, platform=MACHINE), NOW)

    assert move is not None
    assert move.change.weights == WeightsStatus(uri="file:///home/ada/qtj-artifacts/qcnn/1/w.h5")
