"""A ConfigMap of `spec.program` that does not exist, or lacks the file to run.

The operator needs no right on ConfigMaps: the kubelet, and Python in the pod, say what they did not find.
"""

from qtj_operator.api.job import Job
from qtj_operator.api.program import PROGRAM_FOLDER
from qtj_operator.core.pod import Pod

__all__ = ["missing_config_map", "missing_entry"]


def missing_config_map(job: Job, told: str) -> str | None:
    """Returns one half of a sentence if an event about a pod says that the ConfigMap does not exist; None otherwise.

    Args:
        job: The job.
        told: What the event says: see `Get` of pkg/kubelet/configmap, whose error is that of the API server.
    """
    program = job.spec.program
    if program is None or f'configmap "{program.config_map}" not found' not in told:
        return None
    return (
        f"there is no ConfigMap {program.config_map} in the namespace {job.namespace}: create it, "
        "or correct spec.program.configMap"
    )


def missing_entry(job: Job, pod: Pod) -> str | None:
    """Returns one half of a sentence if Python has not found the file to run; None otherwise."""
    program = job.spec.program
    if program is None or f"can't open file '{PROGRAM_FOLDER}/{program.entry}'" not in pod.end_message:
        return None
    return (
        f"the ConfigMap {program.config_map} has no key {program.entry}: create one that has it, "
        "or correct spec.program.entry"
    )
