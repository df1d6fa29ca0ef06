"""The inference Job as decisions see it."""

from dataclasses import dataclass
from datetime import datetime

from qtj_operator.core.pod import Pod

__all__ = ["InferenceRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRun:
    """The inference Job and its pods.

    Attributes:
        run: Digest of the weights and the inference spec that it was created for.
        created: When.
        overdue: Whether it failed because its time was up.
        suspended: Whether its queue has not admitted it yet.
    """

    name: str
    uid: str
    version: str
    run: str
    created: datetime
    suspended: bool
    complete: bool
    failed: bool
    deleting: bool
    pods: tuple[Pod, ...]
    overdue: bool = False

    @property
    def done(self) -> bool:
        """Whether the program has done its work; its Job waits for a sidecar of its pod, and fails with one."""
        best = self.result
        if self.complete or best is None:
            return self.complete
        return best.succeeded and not best.taken_away and (self.failed or best.lingers)

    @property
    def given_up(self) -> bool:
        """Whether the program will not be run again; its Job would wait for a sidecar to say so."""
        best = self.result
        if self.done or best is None:
            return self.failed and not self.done
        return self.failed or (best.failed and not best.retryable and best.lingers)

    @property
    def result(self) -> Pod | None:
        """The pod that succeeded, or else one that failed, for good if there is one."""
        ended = (pod for pod in self.pods if pod.ending)
        return min(ended, key=lambda pod: (not pod.succeeded, pod.retryable, pod.name), default=None)
