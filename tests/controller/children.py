"""A job of three workers, with its Services, pods and inference Job."""

from qtj_operator.api.status import WeightsStatus
from qtj_operator.manifests.inference import inference_job
from qtj_operator.manifests.manifest import Manifest
from qtj_operator.manifests.pod import replica_pod
from qtj_operator.manifests.service import replica_service
from tests.jobs import a_job

JOB = a_job(workers=3, inference={})
PODS = [replica_pod(JOB, replica, attempt=1) for replica in JOB.replicas()]
SERVICES = [replica_service(JOB, replica) for replica in JOB.replicas()]


def inference() -> Manifest:
    assert JOB.inference is not None
    return inference_job(JOB, JOB.inference, WeightsStatus(uri="gs://lab-bucket/w", sha256="ab"))
