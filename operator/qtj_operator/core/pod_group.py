"""The pod groups of a gang, as decisions use them, and in whose API they are."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from qtj_operator.api.job import Job
from qtj_operator.manifests.queueing import group_name, members

__all__ = ["NO_POD_GROUPS", "PodGroup", "PodGroups"]


@dataclass(frozen=True, slots=True)
class PodGroup:
    """The group of a gang's pods, none of which is placed before as many of them can be.

    Attributes:
        name: Its name.
        version: Its resourceVersion.
        min_member: How many.
        deleting: Whether it is being deleted: Kubernetes keeps its own until their pods are gone.
    """

    name: str
    version: str
    min_member: int | None
    deleting: bool = False


@dataclass(frozen=True, slots=True)
class PodGroups:
    """The groups of a job, in the API that its scheduler reads.

    Attributes:
        native: Whether that is Kubernetes' own, and not that of the coscheduling plugin.
        current: The group of this attempt, if it exists.
        former: Those of earlier attempts.
    """

    native: bool = False
    current: PodGroup | None = None
    former: tuple[PodGroup, ...] = ()

    @classmethod
    def placed(cls, job: Job) -> Self:
        """Returns what stands for the groups of a gang that has been placed, and needs none any more."""
        return cls(current=PodGroup(job.name, "", members(job)))

    @classmethod
    def of(cls, job: Job, native: Sequence[PodGroup] | None, plugin: Sequence[PodGroup] | None) -> Self:
        """Returns a job's groups in the API that the cluster serves; where it serves both, Kubernetes' own counts.

        A job that has a group of the plugin keeps it, as its pods may have nodes. Pods that name another scheduler were
        written for one with the plugin, which does not know the groups of Kubernetes.

        Args:
            job: The job.
            native: Its groups in Kubernetes' own API; None where that is not served.
            plugin: Those in the API of the coscheduling plugin; None where that is not served.
        """
        kept = plugin is not None and (bool(plugin) or job.names_scheduler)
        if native is None or kept:
            return cls(current=_named(group_name(job, None), plugin or ()))
        current = _named(group_name(job, job.status.attempt or 0), native)
        former = tuple(group for group in native if group != current and not group.deleting)
        return cls(native=True, current=current, former=former)


NO_POD_GROUPS = PodGroups()
"""Of a job that is no gang."""


def _named(name: str, groups: Sequence[PodGroup]) -> PodGroup | None:
    return next((group for group in groups if group.name == name), None)
