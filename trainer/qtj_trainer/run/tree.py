"""Trees of arrays as JSON and NumPy's arrays by name, and back.

A tree is what researchers keep their numbers in: dicts, lists, tuples and named tuples of arrays of any framework, of
numbers and texts, of NumPy's generators, of objects with `state_dict()` and `load_state_dict()` as PyTorch's, of
objects with `variables` as Keras' optimizers, and of what JAX knows as a pytree.

    {"params": {"w": array}, "step": 3}
    {"kind": "dict", "items": [["params", {"kind": "dict", "items": [["w", {"array": "params/w", ...}]]}],
                               ["step", {"value": 3}]]}
"""

import sys
from collections.abc import Collection, Iterator, Mapping
from copy import copy, deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.run.leaves import framework_of, from_numpy, is_weak, put, to_numpy, twin

__all__ = [
    "Arrays",
    "Description",
    "State",
    "array_types",
    "describe",
    "is_opaque",
    "leaves",
    "parts_of",
    "path_of",
    "rebuild",
    "variable_counts",
]

Description = dict[str, Any]
"""A tree as JSON."""

Arrays = dict[str, NDArray[Any]]
"""The arrays of a tree by name, which is their path in it."""

_Parts = dict[Any, Any]

_OPAQUE = "state_dict"
"""The kind of objects that judge for themselves what fits them."""

_VARIABLES = "variables"
"""The kind of objects that have variables, and none to begin with if they are not built."""


class State(SimpleNamespace):
    """What training changes, each part by its name.

    Assign what a step returns: `state.params = new`. Parts that are changed in place, as PyTorch's, need no assignment.
    A name that `Program.state` was not given is refused: a restart would begin without it.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self):
            raise UserError(f"the state has no part {name}: name it in program.state()")
        super().__setattr__(name, value)


def describe(tree: object, path: str = "") -> tuple[Description, Arrays]:
    """Returns a tree as JSON and as arrays.

    Raises:
        UserError: If there is something in it that is no array and no number, or two arrays have one name.
    """
    arrays: Arrays = {}
    return _described(tree, path, arrays), arrays


def rebuild(
    said: Description,
    arrays: Mapping[str, NDArray[Any]],
    like: object = None,
    *,
    path: str = "",
    apart: Collection[str] = (),
) -> Any:  # noqa: ANN401
    """Returns the tree that was described.

    Args:
        said: Its description.
        arrays: Its arrays.
        like: A tree to put them into: what can be changed is, and what cannot has its type.
        path: The path of this part of the tree.
        apart: The paths of what is not changed, but replaced by its like.

    Raises:
        ValueError: If they do not fit that tree.
    """
    if "value" in said:
        return said["value"]
    if "array" in said:
        return _placed(said, arrays, like, is_apart=path in apart)
    kind, known = _opened(like)
    if kind != said["kind"]:
        like, known = None, {}
    if kind == _VARIABLES and len(known) != len(said["items"]):
        raise ValueError(f"{path or 'it'} has {len(said['items'])} variables there and {len(known)} here")
    parts = {
        key: rebuild(each, arrays, None if kind == _OPAQUE else known.get(key), path=path_of(path, key), apart=apart)
        for key, each in said["items"]
    }
    return _closed(said["kind"], parts, _apart(kind, like) if path in apart else like)


def leaves(tree: object) -> Iterator[Any]:
    """Yields the arrays of a tree, as they are."""
    if framework_of(tree):
        yield tree
        return
    for part in _opened(tree)[1].values():
        yield from leaves(part)


def parts_of(tree: object) -> Mapping[Any, Any]:
    """Returns the parts of a node by their keys; none of an array or a number."""
    return _opened(tree)[1]


def path_of(path: str, key: object) -> str:
    """Returns the path of a part of the node with a path."""
    return f"{path}/{key}" if path else str(key)


def is_opaque(tree: object) -> bool:
    """Tells an object that keeps its parts to itself: it says its state and takes another."""
    return isinstance(tree, np.random.Generator) or hasattr(tree, "load_state_dict")


def array_types(said: Description) -> dict[str, str]:
    """Returns type and shape of each array by its name, but for those within objects that judge what fits them."""
    if "array" in said:
        return {said["array"]: f"{said['dtype']} {tuple(said['shape'])}"}
    if said.get("kind", _OPAQUE) == _OPAQUE:
        return {}
    return {name: each for _, part in said["items"] for name, each in array_types(part).items()}


def variable_counts(said: Description, path: str = "") -> dict[str, int]:
    """Returns how many variables each object with `variables` has, by its path."""
    counts = {path: len(said["items"])} if said.get("kind") == _VARIABLES else {}
    for key, part in said.get("items", ()):
        counts |= variable_counts(part, path_of(path, key))
    return counts


def _described(tree: object, path: str, arrays: Arrays) -> Description:
    if tree is None or (isinstance(tree, bool | int | float | str) and not isinstance(tree, np.generic)):
        return {"value": tree}
    if framework := framework_of(tree):
        return _stored(tree, path or "array", framework, arrays)
    kind, parts = _opened(tree)
    if not kind:
        raise UserError(
            f"{path or 'the state'} is of type {type(tree).__name__}, which cannot be stored: give arrays, numbers, and"
            " dicts and lists of them"
        )
    for key in parts:
        if not isinstance(key, str | int):
            raise UserError(f"{path or 'the state'} has the key {key!r}: a key must be a text or a whole number")
    items = [[key, _described(part, path_of(path, key), arrays)] for key, part in parts.items()]
    return {"kind": kind, "items": items}


def _stored(leaf: object, name: str, framework: str, arrays: Arrays) -> Description:
    if name in arrays:
        raise UserError(f"two arrays of the state have the name {name}: give one of them another key")
    try:
        arrays[name] = values = to_numpy(leaf)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise UserError(f"{name} cannot be stored ({problem}): give an array of numbers") from problem
    said = {"array": name, "of": framework, "dtype": values.dtype.name, "shape": list(values.shape)}
    return {**said, "weak": True} if is_weak(leaf) else said


def _placed(said: Description, arrays: Mapping[str, NDArray[Any]], like: object, *, is_apart: bool) -> Any:  # noqa: ANN401
    values = arrays[said["array"]]
    if values.dtype.kind == "V":  # NumPy's files do not know JAX's types: bfloat16 and its kin
        values = values.view(said["dtype"])
    if not framework_of(like):
        return from_numpy(said["of"], values, weak=said.get("weak", False))
    here = to_numpy(like)
    if (here.dtype, here.shape) != (values.dtype, values.shape):
        raise ValueError(
            f"{said['array']} is {values.dtype.name} {values.shape} there and {here.dtype.name} {here.shape} here"
        )
    return put(twin(like, values) if is_apart else like, values, weak=said.get("weak", False))


def _apart(kind: str, like: Any) -> Any:  # noqa: ANN401  anything may be in a tree
    """Returns what a node is put into that must not be changed itself."""
    if kind in {"dict", "list"}:
        return copy(like)
    return deepcopy(like) if kind in {"generator", _OPAQUE} else like


def _opened(tree: Any) -> tuple[str, _Parts]:  # noqa: ANN401  anything may be in a tree
    """Returns the kind of a node and its parts; nothing of what is none."""
    match tree:
        case State():
            return "state", vars(tree)
        case dict():
            return "dict", tree
        case tuple():
            return "tuple", dict(zip(getattr(tree, "_fields", range(len(tree))), tree, strict=True))
        case list():
            return "list", dict(enumerate(tree))
    return _opened_object(tree)


def _opened_object(thing: Any) -> tuple[str, _Parts]:  # noqa: ANN401  anything may be in a tree
    if isinstance(thing, np.random.Generator):
        return "generator", {"state": thing.bit_generator.state}
    if hasattr(thing, "load_state_dict"):
        return _OPAQUE, {"state": thing.state_dict()}
    if found := _jax_children(thing):
        return "pytree", dict(enumerate(found[0]))
    if isinstance(variables := getattr(thing, "variables", None), list | tuple):
        return _VARIABLES, dict(enumerate(variables))
    return "", {}


def _closed(kind: str, parts: _Parts, like: Any) -> Any:  # noqa: ANN401  anything may be in a tree
    """Returns a node of these parts, which is the given one where that can be changed."""
    match kind:
        case "dict" if like is None:
            return parts
        case "dict":
            for key in like.keys() - parts.keys():
                del like[key]
            like.update(parts)
        case "list" if like is None:
            return list(parts.values())
        case "list":
            like[:] = parts.values()
        case "tuple":
            return type(like)(*parts.values()) if hasattr(like, "_fields") else tuple(parts.values())
        case _ if like is None:
            raise ValueError(f"there is no {kind} here to put them into")
        case _:
            return _put_into(kind, parts, like)
    return like


def _put_into(kind: str, parts: _Parts, like: Any) -> Any:  # noqa: ANN401  anything may be in a tree
    match kind:
        case "state":
            vars(like).update(parts)
        case "generator":
            like.bit_generator.state = parts["state"]
        case "state_dict":
            _load(like, parts["state"])
        case "pytree":
            return _jax_children(like)[1].unflatten(parts.values())
    return like


def _load(thing: Any, state: Any) -> None:  # noqa: ANN401  an object with PyTorch's protocol
    try:
        thing.load_state_dict(state)
    except (RuntimeError, ValueError, KeyError) as problem:
        raise ValueError(str(problem)) from problem


def _jax_children(tree: object) -> Any:  # noqa: ANN401  JAX carries no types here
    """Returns the children of what JAX knows as a node, and how to put them together; nothing of what it does not."""
    if "jax" not in sys.modules:
        return None
    tools = sys.modules["jax"].tree_util
    children, structure = tools.tree_flatten(tree, is_leaf=lambda each: each is not tree)
    return None if tools.treedef_is_leaf(structure) else (children, structure)
