"""How the program of a pod ended."""

from dataclasses import dataclass
from datetime import datetime

__all__ = ["Ending"]

_CLUSTERS_DOING = {
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
    "VolumeAttachmentLimitExceeded",
}
"""The kubelet's reasons for ends that are its node's doing; `OutOfcpu` and the like besides. Kubernetes 1.34,
pkg/kubelet, in lifecycle, nodeshutdown, preemption, status and volumemanager."""

_REJECTED = "Pod was rejected: "
"""How the kubelet begins when it never started the pod (pkg/kubelet/kubelet.go): one that is `Evicted` then has used
nothing, for its node was short of memory or disk already."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ending:
    """How a pod's training container ended, or the init container without which it could not start.

    Attributes:
        exit_code: None when the container never ran or its end is unknown, for example on a lost node.
        reason: The kubelet's reason, for example Error, OOMKilled or Evicted.
        text: The raw termination message, or the kubelet's explanation.
        time: When, by the clock of its node; None when that is unknown.
        init: The init container that ended; None when it was the training container.
    """

    exit_code: int | None
    reason: str
    text: str
    time: datetime | None = None
    init: str | None = None

    @property
    def how(self) -> str:
        """Its exit code and the kubelet's reason, for people."""
        if self.exit_code is None:
            return self.reason
        whose = f" of its init container {self.init}" if self.init else ""
        return f"exit code {self.exit_code}{whose}" + ("" if self.reason == "Error" else f", {self.reason}")

    @property
    def by_cluster(self) -> bool:
        """Whether a node refused the pod, shut down, or lost its container: the program had no part in it."""
        return self.reason in _CLUSTERS_DOING or self.reason.startswith("OutOf") or self._turned_away

    @property
    def by_own_fault(self) -> bool:
        """Whether it used more memory or disk than its limits allow, whatever happened to its peers."""
        return self.reason in {"OOMKilled", "Evicted"} and not self._turned_away

    @property
    def _turned_away(self) -> bool:
        return self.reason == "Evicted" and self.text.startswith(_REJECTED)
