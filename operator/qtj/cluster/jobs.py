"""Jobs and studies of a cluster, as the command line names them."""

import re
from collections.abc import Sequence

from qtj.terminal.errors import InputError, meant
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.controller.client import ApiError, Client, Key, Object, Resource

__all__ = ["check_studies", "job_named", "jobs_in"]

_NOT_FOUND = 404


async def job_named(client: Client, key: Key) -> Object:
    """Returns a job.

    Raises:
        InputError: There is none of that name, or the cluster does not know QuantumTrainingJobs.
        ApiError: The API server refuses, or cannot be reached.
    """
    namespace, name = key
    is_name = re.fullmatch(NAME_PATTERN, name)  # what else is asked for would be another address of the API
    job = await client.get(Resource.QUANTUM_TRAINING_JOBS, namespace, name) if is_name else None
    if job is None:
        names = [each["metadata"]["name"] for each in await jobs_in(client, namespace)]
        all_of_them = "`kubectl get qtj -A` lists all"
        raise InputError(f"there is no job {name} in namespace {namespace}{meant(name, names)}: {all_of_them}")
    return job


async def jobs_in(client: Client, namespace: str | None) -> Sequence[Object]:
    """Returns the jobs of a namespace, or of all.

    Raises:
        InputError: The cluster does not know QuantumTrainingJobs.
        ApiError: The API server refuses, or cannot be reached.
    """
    return await _all(client, Resource.QUANTUM_TRAINING_JOBS, "QuantumTrainingJobs", namespace)


async def check_studies(client: Client, namespace: str) -> None:
    """Asks whether the cluster has studies.

    Raises:
        InputError: It does not know QuantumTrainingStudies.
        ApiError: The API server refuses, or cannot be reached.
    """
    await _all(client, Resource.QUANTUM_TRAINING_STUDIES, "QuantumTrainingStudies", namespace)


async def _all(client: Client, resource: Resource, name: str, namespace: str | None) -> Sequence[Object]:
    try:
        return await client.list(resource, namespace, {})
    except ApiError as error:
        if error.code != _NOT_FOUND:
            raise
        raise InputError(f"the cluster has no {name}: install them with kubectl apply -k crds") from None
