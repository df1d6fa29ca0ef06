"""The inference Job, as decisions use it."""

from dataclasses import dataclass
from datetime import datetime

from qtj_operator.core.pod import Pod

__all__ = ["InferenceRun"]


@dataclass(frozen=True, slots=True, kw_only=True)
class InferenceRun:
    """The inference Job and its pods.

    Attributes:
        run: Digest of the weights and the inference spec that it was created for.
        created: When it was created.
        overdue: Whether it failed because of its deadline.
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
        """Whether the program has succeeded; its Job may still wait for a sidecar, or fail with it."""
        best = self.result
        if self.complete or best is None:
            return self.complete
        return best.succeeded and (self.failed or best.lingers)

    @property
    def lost_result(self) -> bool:
        """Whether the program has succeeded, and its pod, which had the result, is gone."""
        return self.complete and (self.result is None or not self.result.succeeded)

    @property
    def given_up(self) -> bool:
        """Whether the program has failed for good; its Job may still wait for a sidecar."""
        best = self.result
        if self.done or best is None:
            return self.failed and not self.done
        return self.failed or (best.failed and not best.retryable and best.lingers)

    @property
    def result(self) -> Pod | None:
        """The pod that succeeded, or else one that failed, preferably for good."""
        ended = (pod for pod in self.pods if pod.ending)
        return min(ended, key=lambda pod: (not pod.succeeded, pod.retryable, pod.name), default=None)
