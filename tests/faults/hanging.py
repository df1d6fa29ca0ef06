"""Replicas that hang, as they tell it themselves, and an operator that asks them."""

from collections.abc import Callable, Mapping
from datetime import datetime
from enum import StrEnum

from qtj.local.store import ClusterStore
from qtj_contract import Heartbeat
from qtj_operator.api.job import ReplicaId
from qtj_operator.api.names import LABEL_ATTEMPT, LABEL_INDEX, LABEL_ROLE
from qtj_operator.controller.client import Key, Object, Resource
from qtj_operator.core.heard import Heard

_STEP = 40
"""The last step of a gang that hangs."""


class Hang(StrEnum):
    """How a program hangs."""

    DEAD_LOCK = "dead lock"
    STOPPED = "stopped"


class Hanging:
    """What each replica knows of its last step. It survives a restart of the operator.

    Attributes:
        hangs: Programs that take no step any more, by pod and attempt, as in "qcnn-worker-1#1".
    """

    def __init__(self, store: ClusterStore, clock: Callable[[], datetime]) -> None:
        self._store = store
        self._clock = clock
        self._since: dict[str, datetime] = {}
        self.hangs: Mapping[str, Hang] = {}

    def beat(self, key: Key, replica: ReplicaId) -> Heartbeat | None:
        """What the replica answers; None if it does not."""
        pod = self._pod(key, replica)
        if pod is None or pod["status"]["phase"] != "Running":
            return None
        attempt = pod["metadata"]["labels"][LABEL_ATTEMPT]
        if not any(name.endswith(f"#{attempt}") for name in self.hangs):
            return Heartbeat(step=_STEP, age=0.0)
        since = self._since.setdefault(f"{key}#{attempt}", self._clock())
        how = self.hangs.get(f"{pod['metadata']['name']}#{attempt}")
        age = (self._clock() - since).total_seconds()
        return None if how is Hang.STOPPED else Heartbeat(step=_STEP - (how is Hang.DEAD_LOCK), age=age)

    def _pod(self, key: Key, replica: ReplicaId) -> Object | None:
        labels = {LABEL_ROLE: replica.role.task_type, LABEL_INDEX: str(replica.index)}
        return next(iter(self._store.select(Resource.PODS, key[0], labels)), None)


class Asked:
    """A `qtj_operator.controller.client.ProgressSource` of one process of the operator, which knows only whom it asks.

    Args:
        replicas: Who answers.
        clock: Tells the time.
    """

    def __init__(self, replicas: Hanging, clock: Callable[[], datetime]) -> None:
        self._replicas = replicas
        self._clock = clock
        self._since: dict[tuple[Key, ReplicaId], datetime] = {}

    def ask(self, key: Key, replicas: Mapping[ReplicaId, str], followers: Mapping[ReplicaId, str]) -> None:
        """Asks these replicas from now on, and no others."""
        asked = {(key, each) for each in (*replicas, *followers)}
        self._since = {each: since for each, since in self._since.items() if each in asked or each[0] != key}
        for each in asked:
            self._since.setdefault(each, self._clock())

    def latest(self, _key: Key, _replica: ReplicaId) -> None:
        """Returns None."""
        return

    def heard(self, key: Key, replica: ReplicaId) -> Heard | None:
        """See `ProgressSource.heard`."""
        since = self._since.get((key, replica))
        if since is None:
            return None
        beat = self._replicas.beat(key, replica)
        silent = 0.0 if beat else (self._clock() - since).total_seconds()
        return Heard(beat, silent, holds=beat is None)
