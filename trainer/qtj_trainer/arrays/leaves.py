"""Converts single arrays of any framework to NumPy and back.

No framework is imported here: if the program has not imported a framework, it has no arrays of it.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["framework_of", "from_numpy", "is_weak", "put", "separate_copy", "to_numpy"]

Array = Any
"""An array of NumPy, JAX or PyTorch, or a variable of TensorFlow or Keras."""

_KINDS = {"jax": "Array", "torch": "Tensor", "tensorflow": "Variable", "keras": "Variable"}
"""The class of a framework's arrays, by the name of its module."""


def framework_of(leaf: object) -> str:
    """Returns an array's framework: "jax", "torch", "tensorflow", "keras" or "numpy"; "" if it is not an array."""
    for framework, name in _KINDS.items():
        kind = getattr(sys.modules.get(framework), name, None)
        if kind is not None and isinstance(leaf, kind):
            return framework
    if isinstance(leaf, np.generic) or type(leaf) in _of_numpy():
        return "numpy"
    return ""


def _of_numpy() -> tuple[type, ...]:
    """Returns the classes of NumPy's arrays that are nothing but their numbers; a masked array has a mask."""
    pennylane = getattr(sys.modules.get("pennylane.numpy"), "tensor", np.ndarray)
    return np.ndarray, np.matrix, np.memmap, pennylane


def to_numpy(leaf: Array) -> NDArray[Any]:
    """Returns an array as one of NumPy, which may share its memory.

    Raises:
        TypeError: If NumPy does not have its type.
    """
    values: NDArray[Any]
    match framework_of(leaf):
        case "torch":
            values = leaf.detach().cpu().numpy()
        case "tensorflow":
            values = _local(leaf).numpy()
        case "jax":
            values = np.asarray(_key_data(leaf) if _is_key(leaf) else leaf)
        case _:
            values = np.asarray(leaf)
    if values.dtype.hasobject or values.dtype.names:  # objects, or records of several numbers
        raise TypeError(f"its numbers are of type {values.dtype}")
    return values


def is_weak(leaf: Array) -> bool:
    """Returns whether this is a weakly typed array of JAX, such as jnp.asarray(0.1)."""
    return bool(getattr(leaf, "weak_type", False)) and framework_of(leaf) == "jax"


def put(leaf: Array, values: NDArray[Any], *, weak: bool = False) -> Array:
    """Puts values of the same shape and type into an array.

    Args:
        leaf: The array.
        values: The values.
        weak: Whether an array of JAX was weakly typed when the values were stored.

    Returns:
        The array, if it can be changed in place; otherwise a new one of its kind, on the same devices.
    """
    match framework_of(leaf):
        case "torch":
            leaf.detach().copy_(from_numpy("torch", values))
        case "tensorflow" | "keras":
            leaf.assign(values)
        case "jax":
            return _jax_array(leaf, _weak(values) if weak else values)
        case _ if isinstance(leaf, np.generic):
            return values[()]
        case _:
            leaf = leaf if leaf.flags.writeable else leaf.copy()
            leaf[...] = values
    return leaf


def separate_copy(leaf: Array, values: NDArray[Any]) -> Array:
    """Returns an array like another one, without shared memory.

    Args:
        leaf: The other array. A variable is returned itself, because its users would not see a copy.
        values: The values that the new array will get.

    Raises:
        ValueError: If it is a variable with other values.
    """
    match framework_of(leaf):
        case "torch":
            return leaf.detach().clone().requires_grad_(leaf.requires_grad)
        case "numpy":
            return leaf.copy()
        case "tensorflow" | "keras" if not np.array_equal(to_numpy(leaf), values, equal_nan=True):
            raise ValueError(
                "two parts are one variable here, and had different values: give each part its own variable"
            )
    return leaf


def from_numpy(framework: str, values: NDArray[Any], *, weak: bool = False) -> Array:
    """Returns a new array of a framework that the program has imported. See `put` for `weak`."""
    match framework:
        case "torch":
            return sys.modules["torch"].from_numpy(values.copy())
        case "jax":
            return sys.modules["jax"].numpy.asarray(_weak(values) if weak else values)
    return values


def _local(variable: Any) -> Any:
    """Returns this process's copy of a variable, without communication."""
    strategy = getattr(variable, "distribute_strategy", None)
    return strategy.experimental_local_results(variable)[0] if strategy else variable


def _is_key(leaf: Array) -> bool:
    dtypes = sys.modules["jax"].dtypes
    return bool(dtypes.issubdtype(leaf.dtype, dtypes.prng_key))


def _key_data(leaf: Array) -> Array:
    return sys.modules["jax"].random.key_data(leaf)


def _weak(values: NDArray[Any]) -> Array:
    """Returns a weakly typed array of JAX, which `full` creates from a Python number."""
    weak = sys.modules["jax"].numpy.full(values.shape, np.zeros((), values.dtype).item())
    return weak.at[...].set(values) if weak.dtype == values.dtype else values


def _jax_array(like: Array, values: Array) -> Array:
    jax = sys.modules["jax"]
    if _is_key(like):
        return jax.random.wrap_key_data(values, impl=jax.random.key_impl(like))
    return jax.device_put(values, like.sharding)
