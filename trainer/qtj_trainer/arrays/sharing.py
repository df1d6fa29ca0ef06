"""Finds parts of a tree that share memory: they cannot get different values in place.

After `program.state(params=w, best=w)`, the result is {"best": "params"}. After `state.params = state.params + 1` they
are two arrays, and the result is {}. A checkpoint stores the result. If it has {}, `best` becomes a new array when the
checkpoint is restored.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from qtj_trainer.arrays.leaves import framework_of
from qtj_trainer.arrays.tree import is_opaque, parts_of, path_of

__all__ = ["Sharing", "shared_parts"]

Sharing = dict[str, str]
"""By the path of each part that shares memory with an earlier part, the path of the first part with that memory."""


def shared_parts(tree: object) -> Sharing:
    """Returns which parts of a tree share memory.

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
