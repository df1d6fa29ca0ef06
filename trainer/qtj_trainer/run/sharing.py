"""Which parts of a tree are one and the same: they cannot take different numbers in place.

After `program.state(params=w, best=w)` that is {"best": "params"}. Once `state.params = state.params + 1` has made them
two, it is {}, and so it says in the checkpoint: `best` becomes a new array when that is put back.
"""

from collections.abc import Iterator
from typing import Any

import numpy as np

from qtj_trainer.run.leaves import framework_of
from qtj_trainer.run.tree import is_opaque, parts_of, path_of

__all__ = ["Sharing", "shared_parts"]

Sharing = dict[str, str]
"""The path of each part that shares its memory with an earlier one, and the path of the first of these."""


def shared_parts(tree: object) -> Sharing:
    """Returns what is shared in a tree.

    Views of one array of NumPy or one storage of PyTorch count as shared, also where they do not overlap.
    """
    firsts: dict[tuple[str, int], tuple[str, object]] = {}
    shared: Sharing = {}
    for path, part in _changeable(tree, ""):
        # The part is kept, so that no other object takes its identity meanwhile.
        first, _ = firsts.setdefault(_memory(part), (path, part))
        if first != path:
            shared[path] = first
    return shared


def _changeable(tree: object, path: str) -> Iterator[tuple[str, object]]:
    """Yields what can be changed in place, with its path."""
    framework = framework_of(tree)
    if not (framework == "jax" or isinstance(tree, tuple | np.generic)):
        yield path, tree
    if framework or is_opaque(tree):
        return
    for key, part in parts_of(tree).items():
        if part is not None and not isinstance(part, bool | int | float | str):
            yield from _changeable(part, path_of(path, key))


def _memory(part: Any) -> tuple[str, int]:  # noqa: ANN401  anything may be in a tree
    """Returns what parts have in common that share memory."""
    match framework_of(part):
        case "torch":
            return "torch", part.untyped_storage().data_ptr() or id(part)
        case "numpy":
            while isinstance(part.base, np.ndarray):
                part = part.base
    return "object", id(part)
