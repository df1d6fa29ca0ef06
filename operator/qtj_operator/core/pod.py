"""A pod, as decisions use it: which replica it is, its state, and how it ended.

Its main container decides, rather than the pod's phase: a sidecar that still runs, or fails, is not the training
program.
"""

from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from qtj_contract import TerminationMessage, is_retryable, printable
from qtj_operator.api.job import ReplicaId
from qtj_operator.core.end_message import end_message

__all__ = ["FINISHED", "EndedBy", "Ending", "Pod", "Waiting"]

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


FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of a pod in which no container runs any more."""

_ENDS_OF_DELETED = {None, 0, 137, 143}
"""Exit codes of a program that was stopped: it has ended by itself, or by SIGTERM or SIGKILL."""
_SILENT = "it left no message"
_OUT_OF_MEMORY = "it needed more memory than resources.limits.memory allows"
_LESS_MEMORY = "raise that, or lower the batch, the qubits or the filters"
_KILLED = {137: "it was killed (SIGKILL)", 143: "it was asked to end (SIGTERM)"}
"""By exit code, which is 128 and the signal's number: the log of such a program does not tell why it ended."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a container cannot start.

    Attributes:
        image: The container's image.
        reason: The kubelet's reason, for example ImagePullBackOff.
        message: The kubelet's explanation.
    """

    image: str
    reason: str
    message: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pod:
    """The pod of a replica, or of the inference Job.

    Attributes:
        replica: Which replica it is; None for an inference pod.
        attempt: The attempt it was created for; 0 for an inference pod.
        running: Whether its program runs, as far as its node has reported.
        ends: Whether its program has ended, and its node has not reported yet who has caused that.
        ready: Whether its program runs and is ready; the other containers, and gates of the pod, do not count.
        missed: Whether the cluster marked it as not ready because its node no longer reports, although its containers
            were ready by the last report (MarkPodsNotReady of the node lifecycle controller).
        masked: Whether it is not ready for another reason, such as a helper container that has ended. A lost node then
            does not show in that, but only minutes later, when the cluster evicts the pod.
        deadline: Until when its node has to stop it, if it is being deleted.
        asked: When its deletion was asked for.
        probe: Whether it only finds out whether there is a place for one more replica.
        waiting: Why a container cannot start, if one cannot.
        gates: Scheduling gates, with which another controller prevents its scheduling.
        unscheduled: Why no node can run it, as the scheduler reports it.
        disrupted: Preempted, evicted, or on a node that went away.
        accompanied: Whether another of its containers runs: a sidecar.
        finalizers: With which other controllers delay its deletion.
        since: Since when it could start: since it has a node, or else since it exists.
        unseen_by: The scheduler that has not looked at it yet; None once it has.
        node_ready: Whether its node answers, read only if its deletion is late. None if that is not permitted.
    """

    name: str
    uid: str
    version: str
    replica: ReplicaId | None
    attempt: int
    phase: str
    running: bool
    ready: bool
    missed: bool
    deadline: datetime | None
    node: str | None
    address: str | None
    ending: Ending | None
    waiting: Waiting | None
    gates: tuple[str, ...]
    unscheduled: str | None
    disrupted: bool
    accompanied: bool
    finalizers: tuple[str, ...] = ()
    ends: bool = False
    node_ready: bool | None = None
    since: datetime | None = None
    unseen_by: str | None = None
    masked: bool = False
    asked: datetime | None = None
    probe: bool = False

    @property
    def deleting(self) -> bool:
        """Whether its deletion was requested."""
        return self.deadline is not None

    @property
    def active(self) -> bool:
        """Whether it uses or waits for a machine."""
        return not self.stopped and not self.deleting

    @property
    def stopped(self) -> bool:
        """Whether none of its containers runs any more."""
        return self.phase in FINISHED

    @property
    def lingers(self) -> bool:
        """Whether its program has ended and a sidecar still runs.

        The phase alone does not tell: it follows the containers a moment later.
        """
        return self.ending is not None and not self.stopped and self.accompanied

    @property
    def started(self) -> bool:
        """Whether its program runs or has run; a pod that its node refused has not."""
        own = self.ending is not None and self.ending.exit_code is not None and self.ending.init is None
        return self.running or own

    @property
    def ended_by(self) -> EndedBy | None:
        """Who ended its program; None if it has not ended.

        A program that is asked to end may obey with exit code 0, so this counts only if it names its weights. If the
        pod is being deleted, but ended before that was asked for, and in a way that a deletion does not cause, the
        program has ended by itself.
        """
        if self.ending is None:
            return None
        stopped_by = self._stopped_by(self.ending)
        return EndedBy.PROGRAM if stopped_by is None or self.ending.names_weights else stopped_by

    def _stopped_by(self, ending: Ending) -> EndedBy | None:
        if self.disrupted or ending.by_cluster:
            return EndedBy.CLUSTER
        if ending.by_kubelet:
            return EndedBy.KUBELET
        if self.deleting and (ending.exit_code in _ENDS_OF_DELETED or self._obeyed(ending)):
            return None if ending.reason == "OOMKilled" else EndedBy.CLUSTER
        return EndedBy.KUBELET if ending.exit_code is None else None

    def _obeyed(self, ending: Ending) -> bool:
        """Whether it has ended after its deletion was asked for: some programs end with 1 at SIGTERM, as torchrun."""
        return self.asked is not None and ending.time is not None and ending.time >= self.asked

    @property
    def failed(self) -> bool:
        """Whether its program has ended without success, whatever the other containers do."""
        return self.ending is not None and not self.succeeded

    @property
    def succeeded(self) -> bool:
        """Whether its program ended by itself with exit code 0, whatever the other containers do."""
        return self.ending is not None and self.ending.exit_code == 0 and self.ended_by is EndedBy.PROGRAM

    @property
    def taken_away(self) -> bool:
        """Whether the cluster has ended it, or is about to."""
        if self.ending is None:
            return self.disrupted or self.deleting
        return self.ended_by is EndedBy.CLUSTER

    @property
    def unplaced(self) -> bool:
        """Whether it has never had a node."""
        return self.phase == "Pending" and self.node is None

    @property
    def retryable(self) -> bool:
        """Whether the contract allows to run it again; an end that was not the program's decision is never final."""
        code = self.ending.exit_code if self.ending else None
        return self.ended_by is not EndedBy.PROGRAM or code is None or is_retryable(code)

    @property
    def message(self) -> TerminationMessage | None:
        """The termination message, if the program wrote one that follows the contract."""
        return TerminationMessage.parse(self.ending.text) if self.ending else None

    @property
    def end_message(self) -> str:
        """One line on how it ended, for people."""
        if self.ending is None:
            return _SILENT
        if self.ending.reason == "OOMKilled":
            return f"{_OUT_OF_MEMORY}: {_LESS_MEMORY}"
        message = self.message
        if message is None and self.ending.reason == "Error" and self.ending.exit_code in _KILLED:
            return _KILLED[self.ending.exit_code]
        text = (message.error if message else None) or end_message(printable(self.ending.text)) or _SILENT
        return " ".join(text.split()).rstrip(".")[:500]
