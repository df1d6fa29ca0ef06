"""How the program of a pod ended."""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from qtj_contract import TerminationMessage

__all__ = ["EndedBy", "Ending"]

_CAUSED_BY_CLUSTER = {
    "ContainerStatusUnknown",
    "NodeAffinity",
    "NodeLost",
    "NodePorts",
    "NodeShutdown",
    "Preempting",
    "Shutdown",
    "TaintToleration",
    "Terminated",
    "TopologyAffinityError",
    "UnexpectedAdmissionError",
    "Unknown",
    "VolumeAttachmentLimitExceeded",
}
"""The kubelet's reasons for ends that the node caused, besides those like `OutOfcpu`. Kubernetes 1.34,
pkg/kubelet, in lifecycle, nodeshutdown, preemption, status and volumemanager. `Unknown` is containerd's, with exit code
255: it lost the container, as after a reboot (internal/cri/server/container_status.go)."""

_REJECTED = "Pod was rejected: "
"""How the kubelet's message starts if it never started the pod (pkg/kubelet/kubelet.go). A pod that is `Evicted` then
has used nothing: its node was short of memory or disk already."""


class EndedBy(StrEnum):
    """Who ended the program of a pod."""

    PROGRAM = "Program"
    """It has ended by itself: its exit code decides."""
    KUBELET = "Kubelet"
    """It was stopped because of its own pod, which used more disk or time than its author allows: neither a success
    nor final, and the restart counts."""
    CLUSTER = "Cluster"
    """It was stopped by a preemption, an eviction, a deletion or its node: a disruption."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a pod's training container ended, or the init container that kept it from starting.

    Attributes:
        exit_code: None if the container never ran or its end is unknown, for example on a lost node.
        reason: The kubelet's reason, for example Error, OOMKilled or Evicted.
        text: The termination message as it was written, or the kubelet's explanation.
        time: When it ended, by the clock of its node; None if that is unknown.
        init: The init container that ended; None if it was the training container.
        by_kubelet: Whether the reason is that of the pod, which the kubelet stopped or refused.
    """

    exit_code: int | None
    reason: str
    text: str
    time: datetime | None = None
    init: str | None = None
    by_kubelet: bool = False

    @property
    def how(self) -> str:
        """Its exit code and the kubelet's reason, for people."""
        if self.exit_code is None:
            return self.reason
        owner = f" of its init container {self.init}" if self.init else ""
        return f"exit code {self.exit_code}{owner}" + ("" if self.reason == "Error" else f", {self.reason}")

    @property
    def by_cluster(self) -> bool:
        """Whether a node refused the pod, shut down, or lost its container: the program did not cause it."""
        return self.reason in _CAUSED_BY_CLUSTER or self.reason.startswith("OutOf") or self._was_rejected

    @property
    def names_weights(self) -> bool:
        """Whether the program has done its work: it ended with 0 and names its weights."""
        message = TerminationMessage.parse(self.text) if self.exit_code == 0 else None
        return message is not None and message.weights is not None

    @property
    def exceeded_limits(self) -> bool:
        """Whether it used more memory or disk than its limits allow."""
        return self.reason in {"OOMKilled", "Evicted"} and not self._was_rejected

    @property
    def _was_rejected(self) -> bool:
        return self.reason == "Evicted" and self.text.startswith(_REJECTED)
