"""What admission answers to a request for a while, in the API server's own words, and what it adds to objects.

Sources: Kubernetes' apiserver, `plugin/policy/validating/dispatcher.go` (a ValidatingAdmissionPolicy denies with 422,
reason Invalid, by default), `plugin/webhook/errors/statuserror.go` (a webhook that gives no code denies with 400), and
`plugin/webhook/errors` `NewRequest...`/`InternalError` (a webhook that cannot be called is a 500); a quota is a 403.
"""

import itertools
from enum import StrEnum
from typing import Any

from qtj_operator.controller.client import ApiError, Object, Resource

Obj = dict[str, Any]


class Denial(StrEnum):
    """Who denies."""

    QUOTA = "a quota"
    POLICY = "a policy"
    WEBHOOK = "a webhook"
    WEBHOOK_WITH_CODE = "a webhook that answers 403"
    NO_WEBHOOK = "a webhook that cannot be called"


class Gatekeeper:
    """Denies pods, or other children, as long as it is told to.

    Attributes:
        denial: Who denies just now, if anybody does.
        resources: What is denied.
        spared: The names of children that are admitted all the same, because there is room for some.
    """

    def __init__(self) -> None:
        self.denial: Denial | None = None
        self.resources = {Resource.PODS}
        self.spared: frozenset[str] = frozenset()
        self._ids = itertools.count(1)

    def check(self, resource: Resource, manifest: Object) -> None:
        """Looks at an object that is to be created.

        Raises:
            ApiError: It is denied.
        """
        name = manifest["metadata"].get("name")
        if self.denial is not None and resource in self.resources and name not in self.spared:
            raise self._error(self.denial, f'{resource.value[1]} "{name}" is forbidden')

    def _error(self, denial: Denial, refused: str) -> ApiError:
        match denial:
            case Denial.QUOTA:
                return ApiError(
                    403, "Forbidden", f"{refused}: exceeded quota: team, requested: pods=1, limited: pods=0"
                )
            case Denial.POLICY:
                why = "ValidatingAdmissionPolicy 'maintenance' with binding 'all' denied request: no pods today"
                return ApiError(422, "Invalid", f"{refused}: {why}")
            case Denial.WEBHOOK:
                return ApiError(400, "BadRequest", self._said())
            case Denial.WEBHOOK_WITH_CODE:
                return ApiError(403, "Forbidden", self._said())
            case Denial.NO_WEBHOOK:
                why = 'failed calling webhook "policy.example.com": failed to call webhook: connection refused'
                return ApiError(500, "InternalError", f"Internal error occurred: {why}")

    def _said(self) -> str:
        """Many a webhook names the request, so that no answer is like the one before."""
        return f'admission webhook "policy.example.com" denied the request: not today, request-id {next(self._ids)}'


def mutate(resource: Resource, obj: Obj) -> None:
    """A webhook, or the server's own defaults, that add to what they admit: at every create and at every update."""
    if resource is Resource.SERVICES:
        for port in obj["spec"].get("ports", ()):
            port.setdefault("appProtocol", "grpc")
    if resource is Resource.PODS and "resourceVersion" not in obj["metadata"]:
        meta = obj["metadata"]
        meta["labels"] = {**meta.get("labels", {}), "mesh.example.com/injected": "true"}
        meta["annotations"] = {**meta.get("annotations", {}), "mesh.example.com/status": "injected"}
        if not any(container["name"] == "mesh" for container in obj["spec"]["containers"]):
            obj["spec"]["containers"].append({"name": "mesh", "image": "mesh:1"})
