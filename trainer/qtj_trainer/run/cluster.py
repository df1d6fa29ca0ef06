"""The processes that train together, from ``TF_CONFIG``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from qtj_operator.api import contract
from qtj_trainer.errors import UserError

__all__ = ["Cluster"]

_TRAINING_ROLES = ("chief", "worker")


@dataclass(frozen=True, slots=True)
class Cluster:
    """Who trains, and which of them this process is.

    Attributes:
        members: host:port of each training process, by role.
        role: Role of this process.
        index: Its index within the role.
    """

    members: Mapping[str, tuple[str, ...]]
    role: str
    index: int

    @classmethod
    def alone(cls) -> Self:
        """One process without a cluster."""
        return cls({}, "worker", 0)

    @classmethod
    def from_environment(cls, environment: Mapping[str, str]) -> Self:
        """Reads ``TF_CONFIG``; without it the process is alone.

        Raises:
            UserError: If it is not a cluster with this process in it, or has roles that do not train synchronously.
        """
        text = environment.get(contract.Env.TF_CONFIG)
        if not text:
            return cls.alone()
        try:
            said = json.loads(text)
            members = {str(role): tuple(map(str, hosts)) for role, hosts in said["cluster"].items()}
            role, index = str(said["task"]["type"]), int(said["task"]["index"])
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise UserError(
                'TF_CONFIG is not like {"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}:'
                f" it is {text!r}; correct it or leave it to the operator"
            ) from problem
        _check(members, role, index)
        return cls(members, role, index)

    @property
    def size(self) -> int:
        """Number of training processes."""
        return sum(map(len, self.members.values())) or 1

    @property
    def leads(self) -> bool:
        """Whether this process is the one that stores results: the chief, or worker 0 where there is none."""
        return (self.role, self.index) == ("chief" if self.members.get("chief") else "worker", 0)


def _check(members: Mapping[str, tuple[str, ...]], role: str, index: int) -> None:
    strangers = sorted({role, *members}.difference(_TRAINING_ROLES))
    if strangers:
        raise UserError(
            f"TF_CONFIG has the role {strangers[0]!r}: this workload trains synchronously, with the roles"
            f" {' and '.join(_TRAINING_ROLES)} only"
        )
    if not 0 <= index < len(members.get(role, ())):
        raise UserError(f"TF_CONFIG says this is {role} {index}, which its cluster does not list: correct either")
