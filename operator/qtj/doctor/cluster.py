"""What `qtj doctor` checks of a cluster: that it answers, has both CRDs, and accepts jobs from this user."""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
from kubernetes.aio import client as kubernetes

from qtj.cluster.connection import connected, current_namespace, quiet
from qtj.doctor.finding import Finding, Level
from qtj.terminal.text import truncate
from qtj_operator.api.crd import crd, study_crd
from qtj_operator.api.names import GROUP, NEWEST_VERSION, PLURAL, VERSIONS
from qtj_operator.controller.client import ApiError

__all__ = ["cluster"]

_SECONDS = 5.0
_LONGEST = 120
"""Characters of an error of a connection: some libraries quote a whole certificate."""
_CHECK = "cluster"
_FORBIDDEN, _NOT_FOUND = 403, 404


def cluster() -> Finding:
    """Checks the cluster of the current context, for some seconds at most. `qtj run` does not need it."""
    quiet()
    try:
        return asyncio.run(asyncio.wait_for(_ask(), _SECONDS))
    except ApiError as problem:
        return Finding(_CHECK, Level.WARNING, str(problem), "qtj run needs none")
    except TimeoutError:
        return _unreachable(f"no answer within {_SECONDS:.0f} s")
    except kubernetes.ApiException as problem:
        return Finding(_CHECK, Level.WARNING, f"the API server refuses ({problem.status} {problem.reason})")
    except (aiohttp.ClientError, OSError) as problem:
        return _unreachable(truncate(" ".join(str(problem).split()), _LONGEST))


def _unreachable(why: str) -> Finding:
    return Finding(_CHECK, Level.WARNING, f"the API server cannot be reached ({why})", "qtj run needs none")


async def _ask() -> Finding:
    async with connected() as client:
        version = (await kubernetes.VersionApi(client.transport).get_code()).git_version
        where = f"Kubernetes {version}"
        if complaint := await _complaint_of_crds(client.transport):
            return Finding(_CHECK, Level.WARNING, f"{where}, {complaint}", "kubectl apply -k crds")
        namespace = current_namespace()
        if not await _may_create(client.transport, namespace):
            remedy = "ask for the rights of deploy/users"
            return Finding(_CHECK, Level.WARNING, f"{where}: you may not create jobs in {namespace}", remedy)
        return Finding(_CHECK, Level.OK, f"{where} with {NEWEST_VERSION} jobs, which you may create in {namespace}")


async def _complaint_of_crds(transport: kubernetes.ApiClient) -> str:
    """Returns what is wrong with one of the CustomResourceDefinitions; empty if nothing is."""
    for ours in (crd(), study_crd()):
        if complaint := await _complaint_of_crd(transport, ours):
            return complaint
    return ""


async def _complaint_of_crd(transport: kubernetes.ApiClient, ours: Mapping[str, Any]) -> str:
    """Returns what is wrong with the definition in the cluster.

    Not all users may read it, but all see what it serves.
    """
    names = ours["spec"]["names"]
    kind, plural = names["kind"], names["plural"]
    try:
        served = [version for version in VERSIONS if await _serves(transport, version, plural)]
        if NEWEST_VERSION not in served:
            older = f"with the CRD of {kind} of an earlier release, which does not serve {NEWEST_VERSION}"
            return older if served else f"without the CRD of {kind}"
        found = await kubernetes.ApiextensionsV1Api(transport).read_custom_resource_definition(f"{plural}.{GROUP}")
    except kubernetes.ApiException as problem:
        if problem.status == _FORBIDDEN:
            return ""
        raise
    missing = _fields(ours) - _fields(transport.sanitize_for_serialization(found))
    return f"with the CRD of {kind} of another release, which lacks spec.{min(missing)}" if missing else ""


async def _serves(transport: kubernetes.ApiClient, version: str, plural: str) -> bool:
    try:
        served = await kubernetes.CustomObjectsApi(transport).get_api_resources(GROUP, version)
    except kubernetes.ApiException as problem:
        if problem.status == _NOT_FOUND:
            return False
        raise
    return any(each.name == plural for each in served.resources)


def _fields(definition: Mapping[str, Any]) -> set[str]:
    version = next(each for each in definition["spec"]["versions"] if each["name"] == NEWEST_VERSION)
    return set(version["schema"]["openAPIV3Schema"]["properties"]["spec"]["properties"])


async def _may_create(transport: kubernetes.ApiClient, namespace: str) -> bool:
    attributes = kubernetes.V1ResourceAttributes(group=GROUP, resource=PLURAL, verb="create", namespace=namespace)
    review = kubernetes.V1SelfSubjectAccessReview(
        spec=kubernetes.V1SelfSubjectAccessReviewSpec(resource_attributes=attributes)
    )
    answer = await kubernetes.AuthorizationV1Api(transport).create_self_subject_access_review(review)
    return bool(answer.status and answer.status.allowed)
