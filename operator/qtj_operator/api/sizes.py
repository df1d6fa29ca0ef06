"""The numbers of replicas of a job, which can be changed at any time; the rest of `replicaSpecs` cannot."""

from collections.abc import Mapping
from typing import Any, TypeVar

from qtj_operator.api.names import Role
from qtj_operator.api.spec import Spec

__all__ = ["changes", "sizes_of", "with_sizes", "without_sizes"]

_FIELD = "replicaSpecs"
_NUMBER = "replicas"

R = TypeVar("R", bound=str)
"""A role, or its name."""


def sizes_of(spec: Spec) -> Mapping[Role, int]:
    """Returns how many replicas each role has."""
    return {role: each.count for role, each in spec.replica_specs}


def changes(before: Mapping[R, int], after: Mapping[R, int]) -> Mapping[R, tuple[int, int]]:
    """Returns the old and the new number of replicas of each role for which both are known, and differ."""
    both = {role: (before[role], after[role]) for role in before if role in after}
    return {role: (old, new) for role, (old, new) in both.items() if old != new}


def with_sizes(spec: Spec, sizes: Mapping[str, int]) -> Spec:
    """Returns the spec with other numbers of replicas; roles that are not named keep theirs."""
    other = {role: sizes[role] for role, each in spec.replica_specs if sizes.get(role, each.count) != each.count}
    if not other:
        return spec
    roles = {role.task_type: each.changed(replicas=other[role]) for role, each in spec.replica_specs if role in other}
    return spec.changed(replica_specs=spec.replica_specs.changed(**roles))


def without_sizes(written: Mapping[str, Any]) -> Mapping[str, Any]:
    """Returns a spec as it is written, without its numbers of replicas."""
    roles = written.get(_FIELD)
    if not isinstance(roles, Mapping):
        return written
    return {**written, _FIELD: {role: _without_number(each) for role, each in roles.items()}}


def _without_number(role: Any) -> Any:
    if not isinstance(role, Mapping):
        return role
    return {name: value for name, value in role.items() if name != _NUMBER}
