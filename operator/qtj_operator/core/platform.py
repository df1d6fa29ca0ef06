"""What decisions know about the place where pods run: which files outlive a pod, where artifacts are, and images."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from qtj_operator.api.copied_labels import NO_LABELS, CopiedLabels
from qtj_operator.api.defaults import TENSORBOARD_IMAGE
from qtj_operator.api.job import Job
from qtj_operator.api.platform_settings import NO_SETTINGS, PlatformSettings

__all__ = ["CLUSTER", "Platform"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Platform:
    """Where pods run.

    Attributes:
        keeps_files: Whether every file outlives the pod that wrote it. On a cluster, only files in a bucket or on a
            shared volume do.
        shares_nodes: Whether there may be places for more pods at one time than at another.
        artifacts: Addresses of artifacts by namespace and name of the job, if they differ from its spec.
        tensorboard_image: The image of TensorBoard for jobs that name none; None where no TensorBoard is started.
        settings: Defaults and ceilings for jobs.
        account: Namespace and name of the operator's own service account; None where it has none.
        copied_labels: Which labels of a job everything made for it gets too.
    """

    keeps_files: bool = False
    shares_nodes: bool = True
    artifacts: Mapping[tuple[str, str], str] = field(default_factory=dict)
    tensorboard_image: str | None = None
    settings: PlatformSettings = NO_SETTINGS
    account: tuple[str, str] | None = None
    copied_labels: CopiedLabels = NO_LABELS

    def named_weights(self, job: Job) -> str | None:
        """Returns the full address of the weights that the spec names; None if it names none."""
        return job.weights_below(self.artifacts.get((job.namespace, job.name), job.spec.artifacts.uri))


CLUSTER = Platform(tensorboard_image=TENSORBOARD_IMAGE)
"""Kubernetes."""
