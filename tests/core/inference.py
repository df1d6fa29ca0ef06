"""The inference of a job: what tests of several themes make of it and read."""

from qtj_operator.core.decision import Create, Decision, Delete, Kind
from tests.core.world import World, inferring_job

REMOVED = Delete(Kind.JOB, "qcnn-inference", "inference-version")


def failed_inference(**how: object) -> World:
    return inferring_job().with_inference(failed=True, **how).recorded()


def inference_created(decision: Decision) -> dict[str, str]:
    """The environment of the inference Job that the decision creates."""
    (create,) = decision.actions
    assert isinstance(create, Create)
    assert create.manifest["metadata"]["name"] == "qcnn-inference"
    (container,) = create.manifest["spec"]["template"]["spec"]["containers"]
    return {variable["name"]: variable["value"] for variable in container["env"]}
