"""A tree of arrays as `qtj_trainer.run.program` sees it: of NumPy, JAX, PyTorch, PennyLane or TensorFlow."""

import hashlib
import json
import logging
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.rendezvous import hear_leader
from qtj_trainer.run.adapter import REMEDY
from qtj_trainer.run.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.run.checkpoints import Checkpoint, Checkpoints
from qtj_trainer.run.checkpoints import State as Numbers
from qtj_trainer.run.diverged import check_weights
from qtj_trainer.run.sharing import shared_parts
from qtj_trainer.run.tree import Arrays, Description, array_types, describe, leaves, rebuild, variable_counts
from qtj_trainer.workloads.options import Options

if TYPE_CHECKING:
    import tensorflow as tf

__all__ = ["ArrayState"]

log = logging.getLogger("qtj_trainer")

_STRUCTURE = "structure.json"
"""Among the arrays of stored weights, what they are the arrays of."""

_SHARED = "shared"
"""In the structure of a checkpoint, which parts share memory; not in that of weights, whose bytes tell of numbers."""


class ArrayState:
    """A tree of arrays, as it is when this is made: that decides which checkpoints fit it."""

    name = "arrays"
    suffix = "npz"

    def __init__(self, tree: Any) -> None:  # noqa: ANN401  anything may be in a tree
        self._tree = tree
        self._first, arrays = describe(tree)
        self._digest = _digest(self._first, arrays)
        self._free = {name for name, values in arrays.items() if not _is_finite(values)}
        """Arrays that need not be finite, as they were not at the start: the best loss so far may begin as infinity."""

    def fingerprint(self, _: Options) -> str:
        """Returns a digest of names, shapes and types."""
        return hashlib.sha256(json.dumps(array_types(self._first)).encode()).hexdigest()

    def newest(self, checkpoints: Checkpoints, cluster: Cluster) -> Checkpoint | None:
        """Returns the newest checkpoint, the same in all processes.

        Processes that no strategy of TensorFlow connects meet, and take the leader's choice. All of them look before:
        a leader that has gone on may have deleted it by the time that a slower one comes to read it.
        """
        found = checkpoints.newest()
        if self._strategy:
            from qtj_trainer.run.agreement import agree  # noqa: PLC0415

            agree(found.position.step if found else 0, self._strategy)
            return found
        mine = found.name if found else ""
        chosen = hear_leader(cluster, mine)
        if chosen == mine:
            return found
        return checkpoints.read(chosen) if chosen else None

    def state(self) -> Numbers:
        """Returns the structure, with what is shared in it, and then the arrays that it names."""
        said, arrays = describe(self._tree)
        self._check_same(said)
        return [np.array(json.dumps({**said, _SHARED: shared_parts(self._tree)})), *arrays.values()]

    def restore(self, state: Numbers) -> None:
        """Puts them back. What is shared here and was not there becomes two: each has numbers of its own.

        Raises:
            UserError: If they do not fit.
        """
        structure, *arrays = state
        said = json.loads(str(structure))
        before = said.get(_SHARED, {})
        apart = {path for path, first in shared_parts(self._tree).items() if before.get(path) != first}
        try:
            rebuild(said, dict(zip(_names(said), arrays, strict=True)), self._tree, apart=apart)
        except ValueError as problem:
            raise UserError(f"the last checkpoint does not fit the state of this program: {problem}") from problem

    def check_finite(self, step: int) -> None:
        """Raises DivergedError if an array is not finite that was so at the start."""
        _, arrays = describe(self._tree)
        check_weights(((name, each) for name, each in arrays.items() if name not in self._free), step, REMEDY)

    def warn_if_unchanged(self) -> None:
        """Says what to do if training has changed nothing: a checkpoint of it would be one of the initial numbers.

        It may be right: a state that is the best so far, or a learning rate that begins at zero.
        """
        if _digest(*describe(self._tree)) == self._digest:
            log.warning(
                "nothing of the state has changed in the first epoch: if it should have, assign to it what a step"
                " returns, as in state.params = params"
            )

    def dump(self) -> bytes:
        """Encodes the arrays by their names, and the structure, as npz."""
        said, arrays = describe(self._tree)
        if _STRUCTURE in arrays:
            raise UserError(f"an array of the weights has the name {_STRUCTURE}: give it another key")
        return arrays_to_bytes({**arrays, _STRUCTURE: np.array(json.dumps(said))})

    def load(self, data: bytes, *, otherwise: str) -> Any:  # noqa: ANN401  of the type of what was given
        """Puts encoded weights into the tree; returns the tree, or a new one where it cannot be changed."""
        try:
            arrays = dict(arrays_from_bytes(data))
            said = json.loads(str(arrays.pop(_STRUCTURE)))
            self._check_names(said)
            return rebuild(said, arrays, self._tree)
        except (AttributeError, KeyError, TypeError, ValueError) as problem:  # a structure may be any JSON
            raise UserError(f"{otherwise}: {problem}") from problem

    def farewell(self, cluster: Cluster) -> None:
        """Lets the processes of a TensorFlow strategy leave together; others do not wait for each other."""
        if self._strategy:
            from qtj_trainer.replicate.strategy import farewell  # noqa: PLC0415

            farewell(self._strategy, cluster)

    @cached_property
    def _strategy(self) -> "tf.distribute.Strategy | None":
        """The strategy of TensorFlow that the variables were made with, if there is one."""
        found = (getattr(leaf, "distribute_strategy", None) for leaf in leaves(self._tree))
        return next((each for each in found if each is not None), None)

    def _check_names(self, said: Description) -> None:
        here, there = array_types(self._first), array_types(said)
        for missing in sorted(here.keys() - there.keys()):
            raise ValueError(f"{missing} is not among them")
        for odd in sorted(there.keys() - here.keys()):
            raise ValueError(f"{odd} is among them, and not here")

    def _check_same(self, said: Description) -> None:
        """Raises UserError where an array or an object has become another: no later attempt could put it back."""
        before, now = array_types(self._first), array_types(said)
        for name in before.keys() & now.keys():
            if before[name] != now[name]:
                raise UserError(
                    f"{name} was {before[name]} when training began, and is {now[name]} now: give program.state() what"
                    " the steps return"
                )
        counted = variable_counts(said)
        for path, count in variable_counts(self._first).items():
            if counted.get(path, count) != count:
                raise UserError(
                    f"{path} has {counted[path]} variables now, and had {count} when training began: build it before"
                    " program.state(), an optimizer of Keras by optimizer.build(variables)"
                )


def _names(said: Description) -> list[str]:
    """Returns the names of all arrays, in their order."""
    if "array" in said:
        return [said["array"]]
    return [name for _, part in said.get("items", ()) for name in _names(part)]


def _digest(said: Description, arrays: Arrays) -> str:
    digest = hashlib.sha256(json.dumps(said).encode())
    for values in arrays.values():
        digest.update(values.tobytes())
    return digest.hexdigest()


def _is_finite(values: NDArray[Any]) -> bool:
    return values.dtype.kind not in "SUMm" and bool(np.isfinite(values).all())
