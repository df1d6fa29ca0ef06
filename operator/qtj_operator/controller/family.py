"""Who owns whom: jobs have pods, Services and more, and studies have jobs. Each family has its own cache and queue."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from qtj_operator.api.names import LABEL_JOB
from qtj_operator.controller.client import Key, Object, Resource
from qtj_operator.controller.trial_objects import trimmed_study
from qtj_operator.controller.trim import trimmed
from qtj_operator.manifests.trial import LABEL_STUDY

__all__ = ["JOBS", "STUDIES", "Family"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """Objects, and their children.

    Attributes:
        owner: What passes are about.
        label: The label of a child with the name of its owner.
        awaited: What has to be listed before the first decision.
        cached: What is watched.
        trim: Returns an object without what no decision reads.
    """

    owner: Resource
    label: str
    awaited: Sequence[Resource]
    cached: Sequence[Resource]
    trim: Callable[[Resource, Object], Object]

    def owner_of(self, resource: Resource, obj: Object) -> Key | None:
        """Returns the owner that an object is, or whose label it has; None where it has none."""
        meta = obj["metadata"]
        name = meta["name"] if resource is self.owner else (meta.get("labels") or {}).get(self.label)
        return None if name is None else (meta["namespace"], name)


_OF_JOBS = (Resource.QUANTUM_TRAINING_JOBS, Resource.PODS, Resource.SERVICES, Resource.JOBS)

JOBS = Family(
    owner=Resource.QUANTUM_TRAINING_JOBS,
    label=LABEL_JOB,
    awaited=_OF_JOBS,
    cached=(*_OF_JOBS, Resource.DEPLOYMENTS),
    trim=trimmed,
)
"""An operator that may not list Deployments, which are only for TensorBoard, trains all the same."""

_OF_STUDIES = (Resource.QUANTUM_TRAINING_STUDIES, Resource.QUANTUM_TRAINING_JOBS)

STUDIES = Family(
    owner=Resource.QUANTUM_TRAINING_STUDIES,
    label=LABEL_STUDY,
    awaited=_OF_STUDIES,
    cached=_OF_STUDIES,
    trim=trimmed_study,
)
