"""Converts trees of arrays to JSON and NumPy arrays by name, and back.

A tree is a nested structure of dicts, lists, tuples and named tuples. It may have arrays of any framework, numbers and
strings, NumPy's generators, objects with `state_dict()` and `load_state_dict()` as in PyTorch, objects with `variables`
as Keras' optimizers, and pytrees of JAX.

    {"params": {"w": array}, "step": 3}
    {"kind": "dict", "items": [["params", {"kind": "dict", "items": [["w", {"array": "params/w", ...}]]}],
                               ["step", {"value": 3}]]}
"""

import sys
from collections import Counter, OrderedDict, defaultdict
from collections.abc import Collection, Iterator, Mapping
from copy import copy, deepcopy
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.arrays.leaves import framework_of, from_numpy, is_weak, put, separate_copy, to_numpy
from qtj_trainer.errors import UserError

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
"""The arrays of a tree, by their paths in it."""

_Parts = dict[Any, Any]

_OPAQUE = "state_dict"
"""The kind of objects that check themselves which state fits them."""

_VARIABLES = "variables"
"""The kind of objects with variables. They have none before they are built."""

_PLAIN = (type(None), bool, int, float, str)
_DICTS = (dict, OrderedDict, defaultdict, Counter)
_MADE_ANEW = {each.__name__: each for each in (OrderedDict, Counter)}
"""Kinds of dict that need nothing but their items. A new `defaultdict` would lack its default."""

_BASES = (dict, list, tuple, int, float, str, np.ndarray)
"""A subclass of one of them may hold more than it shows, or change what it is given: `Counter.update` adds. So each one
that is known is named here, and all others are refused."""


class State(SimpleNamespace):
    """The parts of a program's state, as attributes.

    Assign what a step returns: `state.params = new`. Parts that are changed in place, as in PyTorch, need none.
    A name that was not given to `Program.state` is refused, because a restart would lose its value.
    """

    def __setattr__(self, name: str, value: object) -> None:
        if name not in vars(self):
            raise UserError(f"the state has no part {name}: name it in program.state()")
        super().__setattr__(name, value)


def describe(tree: object, path: str = "") -> tuple[Description, Arrays]:
    """Returns a tree as JSON and as arrays.

    Raises:
        UserError: If it has an object that cannot be stored, or two arrays have the same name.
    """
    arrays: Arrays = {}
    return _described(tree, path, arrays), arrays


def rebuild(
    description: Description,
    arrays: Mapping[str, NDArray[Any]],
    like: object = None,
    *,
    path: str = "",
    separate: Collection[str] = (),
) -> Any:
    """Returns the tree that was described.

    Args:
        description: Its description.
        arrays: Its arrays.
        like: A tree to put the arrays into. Parts that cannot be changed in place are replaced by new ones like them.
        path: The path of this part of the tree.
        separate: Paths of parts that are not changed in place, but replaced by copies.

    Raises:
        ValueError: If the arrays do not fit that tree.
    """
    if "value" in description:
        return description["value"]
    if "array" in description:
        return _restored(description, arrays, like, is_separate=path in separate)
    kind, existing = _node_parts(like)
    if kind != description["kind"]:
        like, existing = _empty_like_stored(description.get("type")), {}
    if kind == _VARIABLES and len(existing) != len(description["items"]):
        raise ValueError(f"{path or 'it'} has {len(description['items'])} variables there and {len(existing)} here")
    parts = {
        key: rebuild(
            each, arrays, None if kind == _OPAQUE else existing.get(key), path=path_of(path, key), separate=separate
        )
        for key, each in description["items"]
    }
    if kind == "tuple" and (fields := getattr(like, "_fields", ())):
        parts = _by_field(parts, fields, path)
    return _node_from(description["kind"], parts, _separate(kind, like) if path in separate else like)


def leaves(tree: object) -> Iterator[Any]:
    """Yields the arrays of a tree, without conversion."""
    if framework_of(tree):
        yield tree
        return
    for part in _node_parts(tree)[1].values():
        yield from leaves(part)


def parts_of(tree: object) -> Mapping[Any, Any]:
    """Returns the parts of a node by their keys; nothing for an array or a number."""
    return _node_parts(tree)[1]


def path_of(path: str, key: object) -> str:
    """Returns the path of a part, from the path of its node and its key."""
    return f"{path}/{key}" if path else str(key)


def is_opaque(tree: object) -> bool:
    """Returns whether an object hides its parts: it only returns its state and loads another one."""
    return isinstance(tree, np.random.Generator) or hasattr(tree, "load_state_dict")


def array_types(description: Description) -> dict[str, str]:
    """Returns type and shape of each array by its name, without those in objects that check their state themselves."""
    if "array" in description:
        return {description["array"]: f"{description['dtype']} {tuple(description['shape'])}"}
    if description.get("kind", _OPAQUE) == _OPAQUE:
        return {}
    return {name: each for _, part in description["items"] for name, each in array_types(part).items()}


def variable_counts(description: Description, path: str = "") -> dict[str, int]:
    """Returns the number of variables of each object with `variables`, by its path."""
    counts = {path: len(description["items"])} if description.get("kind") == _VARIABLES else {}
    for key, part in description.get("items", ()):
        counts |= variable_counts(part, path_of(path, key))
    return counts


def _described(tree: object, path: str, arrays: Arrays) -> Description:
    if _is_plain(tree):
        return {"value": tree}
    if framework := framework_of(tree):
        return _stored(tree, path or "array", framework, arrays)
    kind, parts = _node_parts(tree)
    if not kind:
        raise UserError(f"{path or 'the state'} has the type {type(tree).__name__}, {_remedy(tree)}")
    for key in parts:
        if not isinstance(key, str | int):
            raise UserError(f"{path or 'the state'} has the key {key!r}: a key must be a string or a whole number")
    items = [[key, _described(part, path_of(path, key), arrays)] for key, part in parts.items()]
    return {"kind": kind, "items": items, **_stored_type(tree)}


def _remedy(tree: object) -> str:
    if base := _known_base(tree):
        return f"of which only the {base} in it could be stored: give a plain {base}"
    return "which cannot be stored: give arrays, numbers, and dicts and lists of them"


def _stored(leaf: object, name: str, framework: str, arrays: Arrays) -> Description:
    if name in arrays:
        raise UserError(f"two arrays of the state have the name {name}: give one of them another key")
    try:
        arrays[name] = values = to_numpy(leaf)
    except (TypeError, ValueError, RuntimeError) as problem:
        raise UserError(f"{name} cannot be stored ({problem}): give an array of numbers") from problem
    description = {"array": name, "of": framework, "dtype": values.dtype.name, "shape": list(values.shape)}
    return {**description, "weak": True} if is_weak(leaf) else description


def _restored(description: Description, arrays: Mapping[str, NDArray[Any]], like: object, *, is_separate: bool) -> Any:
    values = arrays[description["array"]]
    if values.dtype.kind == "V":  # NumPy's files do not have some types of JAX, such as bfloat16
        values = values.view(description["dtype"])
    if not framework_of(like):
        return from_numpy(description["of"], values, weak=description.get("weak", False))
    here = to_numpy(like)
    if (here.dtype, here.shape) != (values.dtype, values.shape):
        raise ValueError(
            f"{description['array']} is {values.dtype.name} {values.shape} there and"
            f" {here.dtype.name} {here.shape} here"
        )
    return put(separate_copy(like, values) if is_separate else like, values, weak=description.get("weak", False))


def _separate(kind: str, like: Any) -> Any:
    """Returns a copy of a node that must not be changed itself."""
    if kind in {"dict", "list"}:
        return copy(like)
    return deepcopy(like) if kind in {"generator", _OPAQUE} else like


def _by_field(parts: _Parts, fields: tuple[str, ...], path: str) -> _Parts:
    """Returns the parts of a named tuple in the order that its fields have here."""
    if parts.keys() != set(fields):
        there, here = (", ".join(map(str, names)) for names in (parts, fields))
        raise ValueError(f"{path or 'it'} has the fields {there} there and {here} here")
    return {name: parts[name] for name in fields}


def _node_parts(tree: Any) -> tuple[str, _Parts]:
    """Returns the kind of a node and its parts; both empty if it is not a node."""
    if isinstance(tree, State):
        return "state", vars(tree)
    match kind := _container_kind(tree):
        case "dict":
            return kind, tree
        case "tuple":
            return kind, dict(zip(getattr(tree, "_fields", range(len(tree))), tree, strict=True))
        case "list":
            return kind, dict(enumerate(tree))
    return _object_parts(tree)


def _object_parts(thing: Any) -> tuple[str, _Parts]:
    if isinstance(thing, np.random.Generator):
        return "generator", {"state": thing.bit_generator.state}
    if hasattr(thing, "load_state_dict"):
        return _OPAQUE, {"state": thing.state_dict()}
    if not isinstance(thing, tuple) and (pytree := _jax_children(thing)):  # JAX takes the fields of any named tuple
        return "pytree", dict(enumerate(pytree[0]))
    if isinstance(variables := getattr(thing, "variables", None), list | tuple):
        return _VARIABLES, dict(enumerate(variables))
    return "", {}


def _node_from(kind: str, parts: _Parts, like: Any) -> Any:
    """Returns a node with these parts: the given one if it can be changed in place, otherwise a new one."""
    match kind:
        case "dict" if like is None:
            return parts
        case "dict":
            _fill_dict(like, parts)
        case "list" if like is None:
            return list(parts.values())
        case "list":
            like[:] = parts.values()
        case "tuple":
            return like._make(parts.values()) if hasattr(like, "_fields") else tuple(parts.values())
        case _ if like is None:
            raise ValueError(f"there is no {kind} here to put them into")
        case _:
            return _put_into(kind, parts, like)
    return like


def _put_into(kind: str, parts: _Parts, like: Any) -> Any:
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


def _load(thing: Any, state: Any) -> None:
    try:
        thing.load_state_dict(state)
    except (RuntimeError, ValueError, KeyError) as problem:
        raise ValueError(str(problem)) from problem


def _jax_children(tree: object) -> Any:
    """Returns the children of a pytree and its structure; None if JAX does not know the object as one."""
    if "jax" not in sys.modules:
        return None
    tools = sys.modules["jax"].tree_util
    children, structure = tools.tree_flatten(tree, is_leaf=lambda each: each is not tree)
    return None if tools.treedef_is_leaf(structure) else (children, structure)


def _is_plain(value: object) -> bool:
    """Returns whether JSON holds all of a value."""
    return type(value) in _PLAIN


def _container_kind(tree: object) -> str:
    """Returns "dict", "list" or "tuple" for a known container; "" for everything else."""
    kind = type(tree)
    if kind in _DICTS:
        return "dict"
    if kind is list:
        return "list"
    return "tuple" if kind is tuple or _is_named_tuple(tree) else ""


def _known_base(value: object) -> str:
    """Returns the name of the known type of which a value has an unknown subclass; "" if there is none."""
    return next((base.__name__ for base in _BASES if isinstance(value, base)), "")


def _stored_type(tree: object) -> dict[str, str]:
    """Returns what a description says of a kind of dict, so that it can be made anew where a list has grown by it."""
    name = type(tree).__name__
    return {"type": name} if _MADE_ANEW.get(name) is type(tree) else {}


def _empty_like_stored(name: str | None) -> dict[Any, Any] | None:
    """Returns a new dict of a stored type; None for another type."""
    kind = _MADE_ANEW.get(name or "")
    return kind() if kind else None


def _fill_dict(like: dict[Any, Any], parts: dict[Any, Any]) -> None:
    """Sets the items of a dict to exactly these, in their order."""
    like.clear()
    for key, part in parts.items():
        like[key] = part  # noqa: PERF403  Counter's own update and | do not set


def _is_named_tuple(tree: object) -> bool:
    """A class of its own may give its named tuples further attributes."""
    return isinstance(tree, tuple) and hasattr(tree, "_fields") and not getattr(tree, "__dict__", None)
