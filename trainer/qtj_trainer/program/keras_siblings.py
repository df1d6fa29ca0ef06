"""The other callbacks of a `fit`: the best value of EarlyStopping, the patience of ReduceLROnPlateau, the history.

Their state is what `fit` changes in their attributes: numbers, strings, arrays, and lists and dicts of them. What stays
as the program has set it is not stored, so that a program may be changed between attempts. What `on_train_begin` sets
is stored: after a restart it would be read from what is restored, such as a learning rate that has decayed.
"""

import inspect
import json
from collections import Counter
from collections.abc import Iterable, Mapping
from traceback import walk_stack
from typing import Any, cast

import numpy as np

from qtj_trainer.arrays.tree import describe

__all__ = ["Siblings", "States", "calling_list"]

Callback = Any
"""A callback of Keras 2 or Keras 3."""

States = dict[str, dict[str, Any]]
"""The changed attributes of callbacks, by their names, and by the names that `_named` gives to the callbacks."""

_SET_BY_KERAS = {"model", "params", "validation_data", "append_header"}
"""Attributes that are set at the start of each `fit`; the last one is whether the file of a CSVLogger is new."""
_COUNTED = {"_batches_seen_since_last_saving", "_last_batch_seen"}
"""Attributes that are not public, and with which ModelCheckpoint counts steps."""


_KERAS = ("keras.", "tf_keras.")


class Siblings:
    """The callbacks of a `fit`, without that of the program."""

    def __init__(self) -> None:
        self._callbacks: dict[str, Callback] = {}
        self._begun: dict[str, dict[str, object]] = {}

    def begin(self, callbacks: Iterable[Callback]) -> None:
        """Takes the callbacks of a `fit` that begins, before their `on_train_begin`."""
        known = {id(each): self._begun[name] for name, each in self._callbacks.items()}  # from an earlier fit
        self._callbacks = _named(callbacks)
        self._begun = {
            name: known[id(each)] if id(each) in known else _frozen_attributes(each)
            for name, each in self._callbacks.items()
        }

    def state(self) -> States:
        """Returns the attributes that have changed since `begin`."""
        return {
            name: {
                key: value for key, value in _attributes(each).items() if _frozen(value) != self._begun[name].get(key)
            }
            for name, each in self._callbacks.items()
        }

    def variables(self) -> dict[str, Any]:
        """Returns the variables of TensorFlow that callbacks hold."""
        import tensorflow as tf

        return {
            f"{name}/{key}": value
            for name, each in self._callbacks.items()
            for key, value in vars(each).items()
            if _is_stored(each, key) and isinstance(value, tf.Variable)
        }

    @property
    def passed_epoch(self) -> int | None:
        """The best epoch of an EarlyStopping that has stopped and has not put its weights back; None if none has."""
        for each in self._callbacks.values():
            stopped, best = getattr(each, "stopped_epoch", 0), getattr(each, "best_epoch", None)
            if stopped and best is not None and best < stopped and not getattr(each, "restore_best_weights", True):
                return int(best) + 1
        return None

    @property
    def kept_epoch(self) -> int | None:
        """The epoch whose weights an EarlyStopping has put back when it stopped; None if none has."""
        for each in self._callbacks.values():
            if getattr(each, "restore_best_weights", False) and getattr(each, "stopped_epoch", 0):
                return int(each.best_epoch) + 1
        return None

    def take(self, stored: States) -> None:
        """Sets the attributes that the checkpoint has."""
        for name, attributes in stored.items():
            for key, value in attributes.items() if name in self._callbacks else ():
                setattr(self._callbacks[name], key, _with_scalars(value))


def calling_list() -> Any:
    """Returns the list of callbacks that is calling one of its callbacks; None if it is called by something else.

    Keras gives a callback no reference to the list, and what the others keep is part of the training.
    """
    for frame, _ in walk_stack(inspect.currentframe()):
        caller = frame.f_locals.get("self")
        if any(kind.__name__ == "CallbackList" for kind in type(caller).__mro__):
            return caller
    return None


def _named(callbacks: Iterable[Callback]) -> dict[str, Callback]:
    """Returns callbacks by the names of their classes, numbered: a restarted program creates them in the same order."""
    count: Counter[str] = Counter()
    named = {}
    for each in callbacks:
        kind = type(each).__name__
        count[kind] += 1
        named[f"{kind}-{count[kind]}"] = each
    return named


def _attributes(callback: Callback) -> dict[str, Any]:
    return {name: value for name, value in vars(callback).items() if _is_stored(callback, name) and _is_data(value)}


def _is_stored(callback: Callback, attribute: str) -> bool:
    """Whether an attribute may be state: of Keras' own callbacks, only those that are public or count steps."""
    is_of_program = not any(kind.__module__.startswith(_KERAS) for kind in _above_callback(type(callback)))
    is_open = is_of_program or attribute in _COUNTED or not attribute.startswith("_")
    return is_open and attribute not in _SET_BY_KERAS


def _above_callback(kind: type) -> list[type]:
    """Returns the classes of a callback without the base class that all have."""
    return [each for each in kind.__mro__ if each.__name__ != "Callback" and each is not object]


def _frozen_attributes(callback: Callback) -> dict[str, object]:
    return {key: _frozen(value) for key, value in _attributes(callback).items()}


def _is_data(value: object) -> bool:
    """Whether a value can be stored; of a subclass, such as an enumeration, only its base could be."""
    if isinstance(value, np.generic) or type(value) is np.ndarray:
        return value.dtype.kind in "biufc"
    if type(value) in {list, tuple}:
        return all(map(_is_data, cast("Iterable[object]", value)))
    if type(value) is dict:
        return all(type(key) in {str, int} and _is_data(each) for key, each in value.items())
    return value is None or type(value) in {bool, int, float, str}


def _frozen(value: object) -> object:
    """Returns a copy that can be compared."""
    description, arrays = describe(value)
    return json.dumps(description), [each.tobytes() for each in arrays.values()]


def _with_scalars(value: Any) -> Any:
    """Returns data in which arrays without dimensions are NumPy's numbers, as they were before they were stored."""
    match value:
        case np.ndarray() if not value.shape:
            return value[()]
        case Mapping():
            return {key: _with_scalars(each) for key, each in value.items()}
        case list():
            return [_with_scalars(each) for each in value]
        case tuple() if not hasattr(value, "_fields"):
            return tuple(map(_with_scalars, value))
    return value
