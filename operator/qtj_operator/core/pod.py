"""A pod as decisions see it: which replica it is, how far it is, and how it ended.

Its main container speaks for it, before and beside the pod's phase: a sidecar that runs on, or fails, is not the
training program.
"""

from dataclasses import dataclass
from datetime import datetime

from qtj_contract import TerminationMessage, is_retryable, printable
from qtj_operator.api.job import ReplicaId
from qtj_operator.core.ending import Ending
from qtj_operator.core.last_words import last_words

__all__ = ["FINISHED", "Pod", "Waiting"]

FINISHED = frozenset({"Succeeded", "Failed"})
"""Phases of a pod of which no container runs any more."""

_ENDS_OF_DELETED = {None, 0, 137, 143}
"""Exit codes of a program that was told to stop: it may obey in silence, or SIGTERM or SIGKILL ended it."""
_SILENT = "it left no message"
_OUT_OF_MEMORY = "it needed more memory than resources.limits.memory allows"
_LESS_MEMORY = "raise that, or lower the batch, the qubits or the filters"
_KILLED = {137: "it was killed (SIGKILL)", 143: "it was told to end (SIGTERM)"}
"""By exit code, 128 and the signal's number: whatever its log ends with, such a program had no time to say why."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Why a container cannot start.

    Attributes:
        image: What that container runs.
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
        missed: Whether the cluster calls it unready because it hears nothing of its node, whose last word is that all
            containers are ready (MarkPodsNotReady of the node lifecycle controller).
        deadline: When its node is to have stopped it, once it is being deleted.
        waiting: Why a container cannot start, if one cannot.
        gates: Scheduling gates, by which another controller keeps it from being scheduled.
        unscheduled: Why no node takes it, in the scheduler's words.
        disrupted: Preempted, evicted, or on a node that went away.
        accompanied: Whether another container of it runs: a sidecar.
        finalizers: By which others keep it from being deleted.
        node_ready: Whether its node answers; asked only once the pod is late to go. None when nobody may tell.
    """

    name: str
    uid: str
    version: str
    replica: ReplicaId | None
    attempt: int
    phase: str
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
    node_ready: bool | None = None

    @property
    def deleting(self) -> bool:
        """Whether somebody has asked for its deletion."""
        return self.deadline is not None

    @property
    def active(self) -> bool:
        """Whether it still uses, or waits for, a machine."""
        return not self.stopped and not self.deleting

    @property
    def stopped(self) -> bool:
        """Whether none of its containers runs any more."""
        return self.phase in FINISHED

    @property
    def lingers(self) -> bool:
        """Whether its program has ended and a sidecar runs on.

        That the phase is still Running says nothing: it follows the containers a moment later.
        """
        return self.ending is not None and not self.stopped and self.accompanied

    @property
    def running(self) -> bool:
        """Whether its program runs, as far as its node has reported."""
        return self.phase == "Running" and self.ending is None

    @property
    def failed(self) -> bool:
        """Whether its program ended badly, whatever the other containers do."""
        return self.phase == "Failed" if self.ending is None else self.ending.exit_code != 0

    @property
    def succeeded(self) -> bool:
        """Whether its program ended with exit code 0, whatever the other containers do."""
        return self.phase == "Succeeded" if self.ending is None else self.ending.exit_code == 0

    @property
    def taken_away(self) -> bool:
        """Whether the cluster ended it: preempted, evicted, deleted, or failed by its node.

        One that is being deleted and ended in another way than that makes a pod end has ended by itself.
        """
        if self.disrupted or (self.ending is not None and self.ending.by_cluster):
            return True
        if not self.deleting or self.ending is None:
            return self.deleting
        return self.ending.exit_code in _ENDS_OF_DELETED and self.ending.reason != "OOMKilled"

    @property
    def unplaced(self) -> bool:
        """Whether it has never had a node."""
        return self.phase == "Pending" and self.node is None

    @property
    def retryable(self) -> bool:
        """Whether the contract allows to run it again; an end without exit code was not the program's choice."""
        code = self.ending.exit_code if self.ending else None
        return self.taken_away or code is None or is_retryable(code)

    @property
    def message(self) -> TerminationMessage | None:
        """The termination message, if the program left one that follows the contract."""
        return TerminationMessage.parse(self.ending.text) if self.ending else None

    @property
    def last_words(self) -> str:
        """One line on how it ended, for people."""
        if self.ending is None:
            return _SILENT
        if self.ending.reason == "OOMKilled":
            return f"{_OUT_OF_MEMORY}: {_LESS_MEMORY}"
        said = self.message
        if said is None and self.ending.reason == "Error" and self.ending.exit_code in _KILLED:
            return _KILLED[self.ending.exit_code]
        text = (said.error if said else None) or last_words(printable(self.ending.text)) or _SILENT
        return " ".join(text.split()).rstrip(".")[:500]
