"""Objects that tests create in a cluster, in memory or behind a real API server, and how to ask for them."""

from typing import Any

import pytest
from kubernetes.aio import client as kubernetes

from qtj_operator.cluster.api import ApiClient
from qtj_operator.cluster.clock import ServerClock
from qtj_operator.controller.client import ApiError, Client, Object, Resource
from qtj_operator.controller.metrics import Metrics

JOBS, PODS, SERVICES, EVENTS = (
    Resource.QUANTUM_TRAINING_JOBS,
    Resource.PODS,
    Resource.SERVICES,
    Resource.EVENTS,
)
PORT = {"name": "grpc", "port": 2222, "targetPort": 2222, "protocol": "TCP"}


def connected(url: str, token: str, clock: ServerClock | None = None) -> ApiClient:
    settings = kubernetes.Configuration(host=url)
    settings.verify_ssl = False
    settings.api_key["BearerToken"] = f"Bearer {token}"
    settings.retries = None
    return ApiClient(kubernetes.ApiClient(settings), Metrics(), clock)


def service(namespace: str, name: str = "a", **labels: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Service",
        "metadata": {"name": name, "namespace": namespace, "labels": labels},
        "spec": {"clusterIP": "None", "selector": {"app": name}, "ports": [PORT]},
    }


def pod(namespace: str, **spec: Any) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "a", "namespace": namespace},
        "spec": {"containers": [{"name": "trainer", "image": "train:1"}], **spec},
    }


def event(namespace: str, name: str) -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": namespace, "labels": {"many": "yes"}},
        "involvedObject": {"namespace": namespace},
    }


async def found(client: Client, resource: Resource, namespace: str, name: str) -> Object:
    there = await client.get(resource, namespace, name)
    assert there is not None
    return there


async def refusal(request: Any) -> tuple[int, str]:
    with pytest.raises(ApiError) as refused:
        await request
    return refused.value.code, refused.value.reason


def replacing(version: str, **fields: Any) -> list[Object]:
    """The patch by which the operator brings fields of a spec back."""
    same = {"op": "test", "path": "/metadata/resourceVersion", "value": version}
    return [same, *({"op": "add", "path": f"/spec/{name}", "value": value} for name, value in fields.items())]


async def uid_of(client: Client, resource: Resource, namespace: str, name: str) -> str:
    uid: str = (await found(client, resource, namespace, name))["metadata"]["uid"]
    return uid


async def version_of(client: Client, resource: Resource, namespace: str, name: str) -> str:
    version: str = (await found(client, resource, namespace, name))["metadata"]["resourceVersion"]
    return version
