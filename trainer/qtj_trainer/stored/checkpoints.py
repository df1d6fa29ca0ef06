"""Checkpoints: an interrupted training continues after the last step that it has stored.

<artifacts>/checkpoints/<job uid, or "local">/000000049-1f3c0a9e2b77.npz      after step 49; the digest is of its bytes
<artifacts>/checkpoints/<job uid, or "local">.finished/...                    the last one of a finished training

The leader writes one after an epoch and keeps the last two. On SIGTERM it writes one after its last step. So does a
follower of a workload, because all processes of one hold the same numbers. Only the leader chooses where to resume. Its
peers read the checkpoint that it names when all meet: each for itself, they might find different ones.

    leader      newest() ──name──▶ rendezvous ──▶ ... save(), save() ... result.json, clear()
    follower                       rendezvous ──name──▶ read()
    evaluator   after(0), after(step), ...

A checkpoint is skipped if its bytes were changed, or if it is of another training: another model, another optimizer,
other data, another learning rate. Only the number of epochs, of workers and of devices, and how often a checkpoint is
stored, may change.

A result replaces the checkpoints. Where a finished training can be continued with more epochs, which is on the user's
own machine, the last one is kept apart: only such a continuation reads it.
"""

import hashlib
import json
import logging
import re
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass
from functools import cached_property
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.errors import TrainerError, TryAgainError, UserError
from qtj_trainer.storage import MissingObjectError, Store
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.stored.extension import Extension
from qtj_trainer.stored.position import Epoch, Gradient, Position
from qtj_trainer.workloads.options import Options

__all__ = ["Checkpoint", "Checkpoints", "State", "Trained", "clear_checkpoints", "has_checkpoints"]

State = Sequence[NDArray[Any]]
"""All arrays that training changes, in the order of the loop that returned them."""

_KEPT = 2
_NAME = re.compile(r"(?P<step>\d{9,})-(?P<digest>[0-9a-f]{12})\.npz")
_DIGITS = 12
_ABOUT = "about"

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, slots=True)
class Checkpoint:
    """A training between two steps.

    Attributes:
        name: Name of its object in the store.
        uri: Address of that object.
        position: How far training is.
        state: The arrays at that position.
    """

    name: str
    uri: str
    position: Position
    state: State


class Trained(Protocol):
    """What checkpoints need to know of the thing that is trained."""

    @property
    def name(self) -> str:
        """Its name."""

    def fingerprint(self, options: Any) -> str:
        """Returns a digest of the model's structure."""


class _UnusableError(Exception):
    """Why a checkpoint is skipped. The message follows the checkpoint's address."""


class Checkpoints:
    """The checkpoints of one job in a store."""

    def __init__(
        self, store: Store, job_uid: str, workload: Trained, options: Options, *, extension: Extension = Extension.NONE
    ) -> None:
        """Names the checkpoints.

        Args:
            store: The artifacts.
            job_uid: The uid of the job; empty without one.
            workload: What is trained.
            options: Its options.
            extension: Whether a finished training can be continued with more epochs.
        """
        self._store = store
        self._job_uid = job_uid
        self._extension = extension
        self._folder = _folder_of(job_uid)
        self._workload = workload
        self._options = options
        self.step = 0
        """Step of the checkpoint that was stored or resumed from last; 0 without one."""
        self._stored: list[str] = []
        """Objects in the folder, in the order in which they can be deleted."""
        self._skipped: set[str] = set()

    def newest(self) -> Checkpoint | None:
        """Returns the newest checkpoint that can be resumed from. The leader calls it once, before it saves any.

        Raises:
            UserError: If the store refuses to list or read.
            TryAgainError: If it does not answer.
        """
        if not self.are_wanted:
            return None
        self._stored = sorted(self._store.list(self._folder), key=_step_of)
        found = self._usable(self._stored)
        if found:
            end = self._stored.index(found.name) + 1
            self._stored = [*self._stored[end:], *self._stored[:end]]
        elif self._extension is Extension.CONTINUED:
            found = self._usable(sorted(self._store.list(_finished(self._folder)), key=_step_of))
        self.step = found.position.step if found else 0
        return found

    def _usable(self, names: Sequence[str]) -> Checkpoint | None:
        """Returns the last one of these that can be resumed from."""
        for name in reversed(names):
            try:
                return self._load(name)
            except (MissingObjectError, _UnusableError) as problem:
                self._skip(name, problem)
        return None

    def after(self, step: int) -> Checkpoint | None:
        """Returns the oldest checkpoint after a step, if there is one. For a process that only reads.

        Raises:
            UserError: If the store refuses to list or read.
            TryAgainError: If it does not answer.
        """
        for name in sorted(self._store.list(self._folder), key=_step_of):
            if _step_of(name) <= step or name in self._skipped:
                continue
            try:
                return self._load(name)
            except MissingObjectError:  # the leader has deleted it since the listing, and has stored newer ones
                continue
            except _UnusableError as problem:
                self._skip(name, problem)
        return None

    def read(self, name: str) -> Checkpoint:
        """Reads the checkpoint that the leader chose.

        Raises:
            UserError: If this process does not find it in the store.
            TryAgainError: If it is damaged, though the leader has verified it.
        """
        try:
            return self._load(name)
        except MissingObjectError as problem:
            raise UserError(
                f"the leader resumes from {self._store.uri(name)}, which is not here: put the artifacts where all"
                " workers can read them, or set --checkpoint-every 0 and --checkpoint-steps 0"
            ) from problem
        except _UnusableError as problem:
            raise TryAgainError(f"{self._store.uri(name)} {problem}: all have to start again") from problem

    @property
    def are_wanted(self) -> bool:
        """Whether this run stores checkpoints."""
        return self._options.checkpoint_every > 0 or self._options.checkpoint_steps > 0

    def is_due(self, position: Position) -> bool:
        """Returns whether a checkpoint is due at a position."""
        every = self._options.checkpoint_every
        by_epoch = every > 0 and position.ends_epoch and position.epochs % every == 0
        return by_epoch or self.is_due_by_step(position.step)

    def is_due_by_step(self, step: int) -> bool:
        """Returns whether `checkpoint_steps` asks for a checkpoint after a step."""
        return self._options.checkpoint_steps > 0 and step % self._options.checkpoint_steps == 0

    def save(self, position: Position, state: State) -> str:
        """Stores a checkpoint, and then deletes those that are no longer needed. For the leader.

        Returns:
            Its name.

        Raises:
            UserError: If the store refuses it; earlier checkpoints stay.
            TryAgainError: If the store does not answer.
        """
        name = self.add(position, state)
        self._stored = [*(each for each in self._stored if each != name), name]
        _delete(self._store, self._stored[:-_KEPT])
        del self._stored[:-_KEPT]
        return name

    def add(self, position: Position, state: State) -> str:
        """Stores a checkpoint and keeps all others. For any process; see `save`."""
        about = json.dumps({"training": self._training, "data": self._data, "position": asdict(position)})
        data = arrays_to_bytes({_ABOUT: np.array(about), **{str(each): array for each, array in enumerate(state)}})
        name = f"{self._folder}/{position.step:09d}-{_digest(data)}.npz"
        self._store.write(name, data)
        self.step = position.step
        return name

    def clear(self) -> None:
        """Deletes all checkpoints of the job, which has its result; the last one may be kept apart."""
        if not self.are_wanted:
            return
        if self._stored and self._extension is not Extension.NONE:
            self._keep_apart(self._stored[-1])
        clear_checkpoints(self._store, self._job_uid)

    def _keep_apart(self, name: str) -> None:
        folder = _finished(self._folder)
        kept = f"{folder}/{name.rpartition('/')[2]}"
        try:
            self._store.write(kept, self._store.read(name))
            _delete(self._store, [each for each in self._store.list(folder) if each != kept])
        except TrainerError as problem:
            log.warning("this training cannot be continued with more epochs: %s", problem)

    def _skip(self, name: str, problem: Exception) -> None:
        log.warning("passing over a checkpoint: %s %s", self._store.uri(name), problem)
        self._skipped.add(name)

    def _load(self, name: str) -> Checkpoint:
        """Reads and verifies a checkpoint."""
        matched = _NAME.fullmatch(name.rpartition("/")[2])
        if not matched:
            raise _UnusableError("does not have the name of a checkpoint")
        data = self._store.read(name)
        if _digest(data) != matched["digest"]:
            raise _UnusableError("is truncated or was changed")
        training, file, position, state = _decode(data)
        if training != self._training:
            is_other_file = file and self._data and file != self._data
            others = "its model, optimizer, data or options differ"
            differ = "what --data names was changed since" if is_other_file else others
            raise _UnusableError(f"is of another training: {differ}")
        epochs = self._options.epochs
        if position.epochs > epochs or (position.epochs == epochs and not position.ends_epoch):
            raise _UnusableError(f"is after epoch {position.epochs}, beyond the {epochs} asked for")
        return Checkpoint(name, self._store.uri(name), position, state)

    @property
    def _data(self) -> str:
        """Digest of the examples, empty without --data."""
        return str(self._options.affecting_numbers().get("data_sha256", ""))

    @cached_property
    def _training(self) -> str:
        """Digest of everything that affects what a step computes."""
        decisive = [self._workload.name, self._options.affecting_numbers(), self._workload.fingerprint(self._options)]
        return hashlib.sha256(json.dumps(decisive, sort_keys=True).encode()).hexdigest()


def has_checkpoints(store: Store, job_uid: str, extension: Extension) -> bool:
    """Returns whether a job has a checkpoint from which it may continue; False if the store does not tell."""
    folder = _folder_of(job_uid)
    folders = [folder, *([_finished(folder)] if extension is Extension.CONTINUED else [])]
    with suppress(TrainerError):
        return any(_NAME.fullmatch(name.rpartition("/")[2]) for each in folders for name in store.list(each))
    return False


def clear_checkpoints(store: Store, job_uid: str) -> None:
    """Deletes all checkpoints of a job, also those of another model or of other options."""
    try:
        names = store.list(_folder_of(job_uid))
    except TrainerError as problem:
        log.warning("the checkpoints stay: %s", problem)
    else:
        _delete(store, names)


def _folder_of(job_uid: str) -> str:
    return f"checkpoints/{job_uid or 'local'}"


def _finished(folder: str) -> str:
    return f"{folder}.finished"


def _delete(store: Store, names: Sequence[str]) -> None:
    """Deletes checkpoints that are not needed. A failure is only logged, because training does not depend on it."""
    try:
        for name in names:
            store.delete(name)
    except TrainerError as problem:
        log.warning("old checkpoints stay: %s", problem)


def _decode(data: bytes) -> tuple[str, str, Position, State]:
    """Decodes a verified checkpoint. Returns digest of the training, digest of its data, position and state."""
    try:
        arrays = dict(arrays_from_bytes(data))
        about = json.loads(str(arrays.pop(_ABOUT)))
        state = [arrays[str(each)] for each in range(len(arrays))]
        return about["training"], about.get("data", ""), _position(about["position"]), state
    except (KeyError, TypeError, ValueError) as problem:
        raise _UnusableError("is of another version of the trainer") from problem


def _position(fields: dict[str, Any]) -> Position:
    if fields["sums"] and "best" not in fields:
        raise KeyError("best")  # from an earlier version, in which a step reported fewer numbers
    return Position(fields["step"], _epoch(fields["last"]), tuple(fields["sums"]), _epoch(fields.get("best")))


def _epoch(fields: dict[str, Any] | None) -> Epoch | None:
    if fields is None:
        return None
    gradients = {name: Gradient(**each) for name, each in fields.pop("gradients").items()}
    return Epoch(**fields, gradients=gradients)


def _step_of(name: str) -> int:
    """Returns the step in a name; -1 for other files, such as the rest of an interrupted write."""
    matched = _NAME.fullmatch(name.rpartition("/")[2])
    return int(matched["step"]) if matched else -1


def _digest(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()[:_DIGITS]
