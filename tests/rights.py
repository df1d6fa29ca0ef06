"""Compares what a user asked of an API server, by its audit log, with what its roles allow.

Two things are wrong: a request that was denied, because the operator then cannot do its work, and a right that no
request used, because then the operator has more rights than it needs.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

Json = Mapping[str, Any]

_DECISION = "authorization.k8s.io/decision"


@dataclass(frozen=True, order=True)
class Right:
    """One verb on one resource.

    Attributes:
        verb: The verb.
        resource: The resource with its group and subresource, such as `jobs.batch` or `pods/log`.
        name: The only object; empty for all.
    """

    verb: str
    resource: str
    name: str = ""

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip()


@dataclass(frozen=True, order=True)
class Request:
    """One request of a user."""

    verb: str
    resource: str
    namespace: str
    name: str
    allowed: bool
    at: str = ""

    def uses(self, right: Right) -> bool:
        """Whether this request needs the right."""
        return (right.verb, right.resource) == (self.verb, self.resource) and right.name in {"", self.name}

    def __str__(self) -> str:
        return f"{self.verb} {self.resource} {self.name}".rstrip() + f" in {self.namespace or 'no namespace'}"


CHECKED_BY_ADMISSION = Right("update", "quantumtrainingjobs.quantumtraining.dev/finalizers")
"""No request: the plugin OwnerReferencesPermissionEnforcement looks for it when a child is created."""


def rights_of(roles: Iterable[Json]) -> set[Right]:
    """Returns what Roles and ClusterRoles allow, one right for each combination that a rule lists."""
    return {
        Right(verb, _resource(group, *resource.split("/")), name)
        for role in roles
        for rule in role["rules"]
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", ("",))
    }


def requests_of(log: Path, user: str, *, since: str = "") -> list[Request]:
    """Returns the requests of a user for resources, from an audit log and its older files.

    Args:
        log: The present file; the API server gives an older one a date in its name.
        user: The user's name.
        since: The time of the first request, in the form of the log (RFC 3339, UTC); empty for all.
    """
    files = sorted(log.parent.glob(f"{log.stem}*{log.suffix}"))
    lines = (json.loads(line) for file in files for line in _whole_lines(file))
    found = (_request(line) for line in lines if line["user"]["username"] == user and _was_judged(line))
    return [each for each in found if each.at >= since]


def denied(requests: Sequence[Request]) -> list[str]:
    """Returns the requests that were denied and never allowed, one text for each.

    An API server that has just started denies everything until it has read the roles.
    """
    allowed = {_without_time(each) for each in requests if each.allowed}
    refused = {_without_time(each) for each in requests if not each.allowed}
    return sorted(str(Request(*each, allowed=False)) for each in refused - allowed)


def unused(rights: Iterable[Right], requests: Sequence[Request]) -> list[str]:
    """Returns the rights that no request used, one text for each."""
    asked = set(requests)
    return [str(right) for right in sorted(rights) if not any(request.uses(right) for request in asked)]


def _without_time(request: Request) -> tuple[str, str, str, str]:
    return request.verb, request.resource, request.namespace, request.name


def _whole_lines(file: Path) -> Iterator[str]:
    """Yields the lines that the API server has written to their end."""
    return (line for line in file.read_text().splitlines(keepends=True) if line.endswith("\n"))


def _was_judged(line: Json) -> bool:
    """Whether the roles decided: not if a request is about no resource, or the server was too busy for it."""
    return "objectRef" in line and _DECISION in line.get("annotations", {})


def _request(line: Json) -> Request:
    about = line["objectRef"]
    return Request(
        verb=line["verb"],
        resource=_resource(about.get("apiGroup", ""), about["resource"], about.get("subresource", "")),
        namespace=about.get("namespace", ""),
        name=about.get("name", ""),
        allowed=line["annotations"][_DECISION] == "allow",
        at=line["requestReceivedTimestamp"],
    )


def _resource(group: str, resource: str, subresource: str = "") -> str:
    return resource + (f".{group}" if group else "") + (f"/{subresource}" if subresource else "")
