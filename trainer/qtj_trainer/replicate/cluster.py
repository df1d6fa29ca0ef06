"""The processes that train together, from ``TF_CONFIG``."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

import qtj_contract as contract
from qtj_trainer.errors import UserError

__all__ = ["Cluster", "Member"]

_ROLES = ("chief", "worker", "ps")
_EVALUATOR = "evaluator"


@dataclass(frozen=True, slots=True)
class Member:
    """One process that takes part in training.

    Attributes:
        role: Its role.
        index: Its index within the role.
        host: Its host name or IP address.
        port: Port of its gRPC server.
    """

    role: str
    index: int
    host: str
    port: int

    @property
    def address(self) -> str:
        """Host and port in the form of ``TF_CONFIG``."""
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def __str__(self) -> str:
        return f"{self.role} {self.index} at {self.address}"


@dataclass(frozen=True, slots=True)
class Cluster:
    """The processes that train together, and which of them this process is.

    Attributes:
        me: This process; None without a cluster, and for the evaluator, which is not in the cluster.
        members: All processes that train or serve, with this one.
        evaluates: Whether this process evaluates the checkpoints of the others.
    """

    me: Member | None
    members: tuple[Member, ...]
    evaluates: bool = False

    @classmethod
    def alone(cls) -> Self:
        """One process without a cluster."""
        return cls(None, ())

    @classmethod
    def from_environment(cls, environment: Mapping[str, str], *, may_evaluate: bool = False) -> Self:
        """Reads ``TF_CONFIG``; without it the process is alone.

        Args:
            environment: The process environment.
            may_evaluate: Whether the program can be the evaluator.

        Raises:
            UserError: If it is not a cluster with this process, has unknown roles, or makes this process the evaluator
                of a program that cannot be one.
        """
        text = environment.get(contract.Env.TF_CONFIG)
        if not text:
            return cls.alone()
        try:
            config = json.loads(text)
            members = tuple(
                _member(str(role), index, str(address))
                for role, addresses in config["cluster"].items()
                for index, address in enumerate(addresses)
            )
            role, index = str(config["task"]["type"]), int(config["task"]["index"])
        except (ValueError, TypeError, KeyError, AttributeError) as problem:
            raise UserError(
                'TF_CONFIG is not like {"cluster": {"worker": ["host:port"]}, "task": {"type": "worker", "index": 0}}:'
                f" it is {text!r}; correct it or leave it to the operator"
            ) from problem
        if role == _EVALUATOR:
            return cls(None, _evaluated(members, may_evaluate=may_evaluate), evaluates=True)
        _check_roles(members, role)
        return cls(_find(members, role, index), members)

    @property
    def size(self) -> int:
        """Number of processes."""
        return len(self.members) or 1

    @property
    def others(self) -> list[Member]:
        """All processes but this one."""
        return [member for member in self.members if member != self.me]

    @property
    def is_coordinated(self) -> bool:
        """Whether a chief schedules the steps, and parameter servers hold the variables."""
        return any(member.role == "ps" for member in self.members)

    @property
    def serves(self) -> bool:
        """Whether this process only serves a coordinator."""
        return self.is_coordinated and not self.leads and not self.evaluates

    @property
    def leads(self) -> bool:
        """Whether this process stores results: it is the chief, or worker 0 if there is no chief."""
        if self.evaluates:
            return False
        roles = {member.role for member in self.members}
        leader = ("chief" if "chief" in roles else "worker", 0)
        return self.me is None or (self.me.role, self.me.index) == leader

    def addresses(self) -> dict[str, list[str]]:
        """Returns the cluster in the form of ``TF_CONFIG``: addresses by role."""
        roles = dict.fromkeys(member.role for member in self.members)
        return {role: [member.address for member in self.members if member.role == role] for role in roles}


def _member(role: str, index: int, address: str) -> Member:
    host, _, port = address.rpartition(":")
    return Member(role, index, host.strip("[]"), int(port))


def _evaluated(members: tuple[Member, ...], *, may_evaluate: bool) -> tuple[Member, ...]:
    """Returns the processes whose checkpoints the evaluator evaluates."""
    if not may_evaluate:
        raise UserError(
            "this is the job's evaluator, and its program evaluates no checkpoints: remove the role Evaluator"
        )
    _check_roles(members)
    return members


def _check_roles(members: tuple[Member, ...], *mine: str) -> None:
    roles = {*mine, *(member.role for member in members)}
    unknown = sorted(roles.difference(_ROLES))
    if unknown:
        raise UserError(
            f"TF_CONFIG has the role {unknown[0]!r}, which this trainer does not have: use {', '.join(_ROLES)}"
        )
    missing = [role for role in ("chief", "worker") if "ps" in roles and role not in roles]
    if missing:
        raise UserError(
            f"TF_CONFIG has parameter servers and no {missing[0]}: add one, because the chief schedules the steps that"
            " the workers run"
        )


def _find(members: tuple[Member, ...], role: str, index: int) -> Member:
    for member in members:
        if (member.role, member.index) == (role, index):
            return member
    raise UserError(f"TF_CONFIG says this is {role} {index}, which its cluster does not list: correct either")
