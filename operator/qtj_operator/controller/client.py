"""The cluster as the controller needs it: a few verbs on raw JSON objects.

There are several implementations: the real API server, one in memory, and one that reads from what watches delivered.
The controller cannot tell them apart.
"""

import re
from collections.abc import Mapping, Sequence
from enum import Enum
from typing import Any, Protocol

from qtj_contract import Progress
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import GROUP, PLURAL, VERSION
from qtj_operator.api.study import STUDY_PLURAL
from qtj_operator.core.heard import Heard

__all__ = ["ApiError", "Client", "Key", "Object", "ProgressSource", "Resource", "denied_by"]

Object = Mapping[str, Any]
"""A Kubernetes object as JSON has it."""

Key = tuple[str, str]
"""Namespace and name of a job or a study."""


class Resource(Enum):
    """The resources that the operator reads or writes, each by its path in the API."""

    QUANTUM_TRAINING_JOBS = (f"/apis/{GROUP}/{VERSION}", PLURAL)
    QUANTUM_TRAINING_STUDIES = (f"/apis/{GROUP}/{VERSION}", STUDY_PLURAL)
    PODS = ("/api/v1", "pods")
    SERVICES = ("/api/v1", "services")
    DEPLOYMENTS = ("/apis/apps/v1", "deployments")
    JOBS = ("/apis/batch/v1", "jobs")
    POD_GROUPS = ("/apis/scheduling.x-k8s.io/v1alpha1", "podgroups")
    NATIVE_POD_GROUPS = ("/apis/scheduling.k8s.io/v1beta1", "podgroups")
    EVENTS = ("/api/v1", "events")
    NODES = ("/api/v1", "nodes")
    NAMESPACES = ("/api/v1", "namespaces")


_ADMISSION = re.compile(r"(webhook|(?:Valid|Mut)atingAdmissionPolicy) [\"']([^\"']+)[\"']")
"""How the API server names who refused: kube-apiserver 1.34, admission/plugin/webhook/errors/statuserror.go and
admission/plugin/policy/validating/plugin.go; `failed calling webhook` among them."""

_QUOTA = re.compile(r"(?:exceeded|failed) quota: ([^,:]+)")
"""kube-apiserver 1.34, resourcequota/controller.go: too much is asked for, or a request is missing that it counts."""

_POD_SECURITY = re.compile(r'violates PodSecurity "([^"]+)"')
"""kube-apiserver 1.34, pod-security-admission/admission/admission.go: the level with its version."""

_DENIED = re.compile(r"denied (the )?request|is forbidden")
"""What every refusal of an admission plugin has, whatever its name."""


def denied_by(text: str) -> str:
    """Returns who refused, in a few words that are the same for all jobs: a policy, a webhook or a quota.

    Args:
        text: What the API server said, also within a longer sentence.
    """
    if named := _ADMISSION.search(text):
        return f"{named[1]} {named[2]}"
    if level := _POD_SECURITY.search(text):
        return f"PodSecurity {level[1]}"
    quota = _QUOTA.search(text)
    return f"quota {quota[1]}" if quota else ""


class ApiError(Exception):
    """The API server refused, or could not be reached.

    Attributes:
        code: HTTP status code; 0 when there was no answer.
        reason: The API's one-word reason, for example AlreadyExists.
        retry_after: For how many seconds the server asks for no further request.
    """

    def __init__(self, code: int, reason: str, message: str, *, retry_after: float = 0.0) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.retry_after = retry_after

    @property
    def final(self) -> bool:
        """Whether the same request is refused again until something changes: the object is at fault, or a policy."""
        return self.code in {400, 403, 422}

    @property
    def refused_by(self) -> str | None:
        """The webhook or policy that refused, or that could not be asked; None when the server itself answers."""
        named = _ADMISSION.search(str(self))
        return f"the {named[1]} {named[2]}" if named else None

    @property
    def malformed(self) -> bool:
        """Whether the API server itself reports a mistake in the object, which a later attempt does not cure.

        An admission plugin answers with the same codes (a policy with 422, a webhook that sets none with 400), and may
        accept the object later. A refusal because of a quota or missing rights is 403. An answer without a reason is
        that of a proxy.
        """
        found = self.code in {400, 422} and self.reason in {"BadRequest", "Invalid"}
        return found and self.refused_by is None and not _DENIED.search(str(self))


class Client(Protocol):
    """What the controller asks of a cluster. Every method raises `ApiError` when the server refuses."""

    async def get(self, resource: Resource, namespace: str | None, name: str) -> Object | None:
        """Returns the object, or None when there is none of that name; a node is in no namespace."""
        ...

    async def list(
        self, resource: Resource, namespace: str | None, labels: Mapping[str, str], *, fresh: bool = False
    ) -> Sequence[Object]:
        """Returns the objects that carry all of `labels`, in one namespace or in all.

        With `fresh`, as they are at least now, and not as they were when a watch delivered them.
        """
        ...

    async def events_about(self, namespace: str, uid: str) -> Sequence[Object]:
        """Returns the Events about the object with this uid."""
        ...

    async def create(self, resource: Resource, manifest: Object) -> Object:
        """Creates the object; returns it as it is stored."""
        ...

    async def patch(self, resource: Resource, namespace: str, name: str, operations: Sequence[Object]) -> Object:
        """Changes the object by a JSON patch (RFC 6902), all operations or none; returns it as it is stored."""
        ...

    async def delete(
        self, resource: Resource, namespace: str, name: str, version: str, *, force: bool = False
    ) -> Object | None:
        """Deletes the object if it is still at this resourceVersion; one that is gone counts as deleted.

        With `force`, a pod is deleted without confirmation by its node.

        Returns:
            The object that is being deleted and still there; None where it may be gone.
        """
        ...

    async def replace_status(self, resource: Resource, obj: Object) -> Object:
        """Writes the object's status, provided that it is still at the resourceVersion that `obj` names.

        Returns:
            The object as it is stored.
        """
        ...


class ProgressSource(Protocol):
    """Where the progress of running jobs comes from."""

    def ask(self, key: Key, replicas: Mapping[ReplicaId, str], followers: Mapping[ReplicaId, str]) -> None:
        """Asks these replicas of a job from now on, and no others; drops what others have reported.

        Args:
            key: Namespace and name of the job.
            replicas: Replicas that are asked all the time, with their IP addresses.
            followers: Others, which are asked now and then.
        """
        ...

    def latest(self, key: Key, replica: ReplicaId) -> Progress | None:
        """Returns what a replica reported last; None while it has reported nothing, or is not asked."""
        ...

    def heard(self, key: Key, replica: ReplicaId) -> Heard | None:
        """Returns what a replica told of its last step; None until it was asked once."""
        ...
