"""The pod that reads what a job has stored, for a user who has no right to the store.

It has the image, the service account, the volumes and the variables of the job's replicas, and waits for the commands
that are run in it. The cluster ends it after ten minutes, whatever becomes of `qtj`, and removes it with its job.
"""

from importlib import resources

from qtj.script.objects import with_owner
from qtj.terminal.errors import InputError
from qtj_operator.api.reading import InvalidJob, read_leniently
from qtj_operator.controller.client import Object
from qtj_operator.manifests.pod import pod_template

__all__ = ["CONTAINER", "reader_pod", "reading_command"]

CONTAINER = "reader"
_SECONDS = 600
_WAIT = f"import time; time.sleep({_SECONDS})"
_KEPT = ("image", "imagePullPolicy", "env", "envFrom", "volumeMounts", "volumeDevices", "securityContext")
"""What it has of the main container: nothing of what only a training needs, such as GPUs, ports and probes."""
_RESOURCES = {"requests": {"cpu": "100m", "memory": "256Mi"}, "limits": {"memory": "1Gi"}}


def reader_pod(job: Object, name: str) -> Object:
    """Returns the pod.

    Args:
        job: The job, as the API server has it.
        name: The name of the pod.

    Raises:
        InputError: The template of the job cannot be read.
    """
    try:
        template = read_leniently(job["spec"])[0].template
    except InvalidJob as problem:
        raise InputError(f"{job['metadata']['name']} cannot be read: {problem}") from None
    spec = dict(pod_template(template, {})["spec"])
    main = next(each for each in spec["containers"] if each["name"] == template.spec.main.name)
    reader = {"name": CONTAINER, "command": ["python", "-c", _WAIT], "resources": _RESOURCES}
    spec.pop("initContainers", None)
    spec["containers"] = [reader | {field: main[field] for field in _KEPT if field in main}]
    spec |= {"activeDeadlineSeconds": _SECONDS, "terminationGracePeriodSeconds": 0}
    meta = {"name": name, "namespace": job["metadata"]["namespace"]}
    return with_owner({"apiVersion": "v1", "kind": "Pod", "metadata": meta, "spec": spec}, job)


def reading_command(uri: str) -> list[str]:
    """Returns the command that writes the object at an address to stdout."""
    text = resources.files("qtj.report").joinpath("pod_program.py").read_text("utf-8")
    return ["python", "-c", text, uri]
