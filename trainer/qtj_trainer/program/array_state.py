"""A tree of arrays that a program trains: of NumPy, JAX, PyTorch, PennyLane or TensorFlow."""

import hashlib
import json
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.arrays.metrics import check_weights
from qtj_trainer.arrays.tree import Arrays, Description, array_types, describe, leaves, rebuild, variable_counts
from qtj_trainer.errors import UserError
from qtj_trainer.program.adapter import REMEDY
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.rendezvous import broadcast_from_leader
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.stored.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.stored.checkpoints import State as Numbers
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf

from collections.abc import Iterator

from qtj_trainer.arrays.leaves import framework_of
from qtj_trainer.arrays.tree import is_opaque, parts_of, path_of

__all__ = ["STRUCTURE", "ArrayState", "shared_parts"]

log = logging.getLogger("qtj_trainer")

STRUCTURE = "structure.json"
"""Name of the entry in stored weights that describes the tree of the arrays."""

_SHARED = "shared"
"""Key in the structure of a checkpoint: which parts share memory.

Stored weights do not have it, because equal weights must give equal bytes.
"""

Sharing = dict[str, str]
"""By the path of each part that shares memory with an earlier part, the path of the first part with that memory."""


class ArrayState:
    """A tree of arrays. Its structure when this object is created decides which checkpoints fit."""

    name = "arrays"
    suffix = "npz"

    def __init__(self, tree: Any) -> None:
        self._tree = tree
        self._first, arrays = describe(tree)
        self._digest = _digest(self._first, arrays)
        self._free = {name for name, values in arrays.items() if not _is_finite(values)}
        """Arrays that were not finite at the start, so they may stay so: the best loss so far can start at infinity."""

    @property
    def model(self) -> Any:
        """What it was created for: a layer with a circuit has its circuit stored, as a model has."""
        return self._tree

    def fingerprint(self, _: Options) -> str:
        """Returns a digest of names, shapes and types."""
        return hashlib.sha256(json.dumps(array_types(self._first)).encode()).hexdigest()

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the newest checkpoint, the same in all processes.

        Without a strategy of TensorFlow, the processes meet and take the leader's choice. Each one reads its newest
        checkpoint before that: a leader that trains already may have deleted it when a slower process reads it.
        """
        newest = checkpoints.newest()
        if self._strategy:
            from qtj_trainer.replicate.strategy import agree

            agree(newest.position.step if newest else 0, self._strategy)
            return newest
        mine = newest.name if newest else ""
        chosen = broadcast_from_leader(cluster, mine)
        if chosen == mine:
            return newest
        return checkpoints.read(chosen) if chosen else None

    def state(self) -> Numbers:
        """Returns the structure as JSON, with what is shared in it, and then the arrays in its order."""
        description, arrays = describe(self._tree)
        self._check_same(description)
        return [np.array(json.dumps({**description, _SHARED: shared_parts(self._tree)})), *arrays.values()]

    def restore(self, state: Numbers) -> None:
        """Restores what `state` returned. Parts that share memory here, but did not then, become separate arrays.

        Raises:
            UserError: If the numbers do not fit the tree.
        """
        structure, *arrays = state
        description = json.loads(str(structure))
        before = description.get(_SHARED, {})
        separate = {path for path, first in shared_parts(self._tree).items() if before.get(path) != first}
        try:
            rebuild(description, dict(zip(_names(description), arrays, strict=True)), self._tree, separate=separate)
        except ValueError as problem:
            raise UserError(f"the last checkpoint does not fit the state of this program: {problem}") from problem

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if an array is not finite and was finite at the start."""
        _, arrays = describe(self._tree)
        check_weights(((name, each) for name, each in arrays.items() if name not in self._free), step, REMEDY)

    def read_together(self) -> None:
        """Does nothing: a process stores its own numbers, because each may be asked to end after another step."""

    def warn_if_unchanged(self) -> None:
        """Logs what to do if training has changed nothing: its checkpoint would have the initial numbers.

        It is no error: the state may hold the best numbers so far, or the learning rate may start at zero.
        """
        if _digest(*describe(self._tree)) == self._digest:
            log.warning(
                "the first epoch has not changed the state: if it should have, assign what a step returns, as in"
                " state.params = params"
            )

    def dump(self) -> bytes:
        """Encodes the arrays by their names, and the structure, as npz."""
        description, arrays = describe(self._tree)
        if STRUCTURE in arrays:
            raise UserError(f"an array of the weights has the reserved name {STRUCTURE}: give it another key")
        return arrays_to_bytes({**arrays, STRUCTURE: np.array(json.dumps(description))})

    def load(self, data: bytes, *, otherwise: str) -> Any:
        """Puts encoded weights into the tree. Returns the tree, or a new one if it cannot be changed in place."""
        try:
            arrays = dict(arrays_from_bytes(data))
            description = json.loads(str(arrays.pop(STRUCTURE)))
            self._check_names(description)
            return rebuild(description, arrays, self._tree)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:  # a structure may be any JSON
            raise UserError(f"{otherwise}: {problem}") from problem

    def leave_together(self, cluster: Cluster) -> None:
        """Waits until all processes of a TensorFlow strategy can end. Without a strategy, it does not wait."""
        if self._strategy:
            from qtj_trainer.replicate.strategy import leave_together

            leave_together(self._strategy, cluster)

    @cached_property
    def _strategy(self) -> "tf.distribute.Strategy | None":
        """The strategy of TensorFlow under which the variables were created, if there is one."""
        strategies = (getattr(leaf, "distribute_strategy", None) for leaf in leaves(self._tree))
        return next((each for each in strategies if each is not None), None)

    def _check_names(self, description: Description) -> None:
        here, there = array_types(self._first), array_types(description)
        for missing in sorted(here.keys() - there.keys()):
            raise ValueError(f"they do not have {missing}")
        for odd in sorted(there.keys() - here.keys()):
            raise ValueError(f"they have {odd}, which this program does not have")

    def _check_same(self, description: Description) -> None:
        """Raises UserError if the type, the shape or the number of variables changed: no restart could restore it."""
        before, now = array_types(self._first), array_types(description)
        for name in before.keys() & now.keys():
            if before[name] != now[name]:
                raise UserError(
                    f"{name} was {before[name]} when training started, and is {now[name]} now: give program.state()"
                    " arrays of the type and shape that the steps return"
                )
        counted = variable_counts(description)
        for path, count in variable_counts(self._first).items():
            if counted.get(path, count) != count:
                raise UserError(
                    f"{path} has {counted[path]} variables now, and had {count} when training started: build it before"
                    " program.state(), an optimizer of Keras with optimizer.build(variables)"
                )


def _names(description: Description) -> list[str]:
    """Returns the names of all arrays, in their order."""
    if "array" in description:
        return [description["array"]]
    return [name for _, part in description.get("items", ()) for name in _names(part)]


def _digest(description: Description, arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(description).encode())
    for values in arrays.values():
        digest.update(values.tobytes())
    return digest.hexdigest()


def _is_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind not in "SUMm" and bool(np.isfinite(values).all())


def shared_parts(tree: object) -> Sharing:
    """Returns which parts of a tree share memory: they cannot get different values in place.

    After `program.state(params=w, best=w)`, the result is {"best": "params"}. After `state.params = state.params + 1`
    they are two arrays, and the result is {}. A checkpoint stores the result. If it has {}, `best` becomes a new array
    when the checkpoint is restored.

    Views of one NumPy array or of one PyTorch storage count as shared, even if they do not overlap.
    """
    firsts: dict[tuple[str, int], tuple[str, object]] = {}
    shared: Sharing = {}
    for path, part in _changeable(tree, ""):
        # The part is kept, so that no new object gets the same id.
        first, _ = firsts.setdefault(_memory(part), (path, part))
        if first != path:
            shared[path] = first
    return shared


def _changeable(tree: object, path: str) -> Iterator[tuple[str, object]]:
    """Yields the parts that can be changed in place, each with its path."""
    framework = framework_of(tree)
    if not (framework == "jax" or isinstance(tree, tuple | np.generic)):
        yield path, tree
    if framework or is_opaque(tree):
        return
    for key, part in parts_of(tree).items():
        if part is not None and not isinstance(part, bool | int | float | str):
            yield from _changeable(part, path_of(path, key))


def _memory(part: Any) -> tuple[str, int]:
    """Returns a key that is the same for parts with shared memory."""
    match framework_of(part):
        case "torch":
            return "torch", part.untyped_storage().data_ptr() or id(part)
        case "numpy":
            while isinstance(part.base, np.ndarray):
                part = part.base
    return "object", id(part)
