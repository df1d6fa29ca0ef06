"""Single arrays of any framework, as NumPy's and back.

No framework is imported here: one that the program has not imported itself cannot have made the array.
"""

import sys
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["framework_of", "from_numpy", "is_weak", "put", "to_numpy", "twin"]

Array = Any
"""An array of NumPy, JAX or PyTorch, or a variable of TensorFlow or Keras."""

_KINDS = {"jax": "Array", "torch": "Tensor", "tensorflow": "Variable", "keras": "Variable"}
"""The class of a framework's arrays, by the name of its module."""


def framework_of(leaf: object) -> str:
    """Returns whose array this is: "jax", "torch", "tensorflow", "keras", "numpy", or "" for what is none."""
    for framework, name in _KINDS.items():
        kind = getattr(sys.modules.get(framework), name, None)
        if kind is not None and isinstance(leaf, kind):
            return framework
    if isinstance(leaf, np.ndarray | np.generic):
        return "numpy"
    return ""


def to_numpy(leaf: Array) -> NDArray[Any]:
    """Returns the numbers of an array, which may be shared with it.

    Raises:
        TypeError: If NumPy has no such numbers.
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
    if values.dtype.hasobject:
        raise TypeError(f"its numbers are of type {values.dtype}")
    return values


def is_weak(leaf: Array) -> bool:
    """Tells an array of JAX whose type gives way to that of others, such as jnp.asarray(0.1)."""
    return bool(getattr(leaf, "weak_type", False)) and framework_of(leaf) == "jax"


def put(leaf: Array, values: NDArray[Any], *, weak: bool = False) -> Array:
    """Puts numbers of the same shape and type into an array.

    Args:
        leaf: The array.
        values: The numbers.
        weak: Whether an array of JAX is weakly typed, as it was when the numbers were taken.

    Returns:
        The array, where it can be changed; else a new one of its kind, on the same devices.
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


def twin(leaf: Array, values: NDArray[Any]) -> Array:
    """Returns an array like another one that shares no memory with it.

    Args:
        leaf: The other one. A variable is returned itself: whoever uses it would not see another.
        values: The numbers that the new one is for.

    Raises:
        ValueError: If it is a variable that has other numbers.
    """
    match framework_of(leaf):
        case "torch":
            return leaf.detach().clone().requires_grad_(leaf.requires_grad)
        case "numpy":
            return leaf.copy()
        case "tensorflow" | "keras" if not np.array_equal(to_numpy(leaf), values, equal_nan=True):
            raise ValueError("two parts are one variable here, and had different numbers: give each one of its own")
    return leaf


def from_numpy(framework: str, values: NDArray[Any], *, weak: bool = False) -> Array:
    """Returns a new array of a framework that the program has imported; see `put` for weak ones."""
    match framework:
        case "torch":
            return sys.modules["torch"].from_numpy(values.copy())
        case "jax":
            return sys.modules["jax"].numpy.asarray(_weak(values) if weak else values)
    return values


def _local(variable: Any) -> Any:  # noqa: ANN401  TensorFlow carries no types
    """Returns the copy of a variable that this process holds, without help from others."""
    strategy = getattr(variable, "distribute_strategy", None)
    return strategy.experimental_local_results(variable)[0] if strategy else variable


def _is_key(leaf: Array) -> bool:
    dtypes = sys.modules["jax"].dtypes
    return bool(dtypes.issubdtype(leaf.dtype, dtypes.prng_key))


def _key_data(leaf: Array) -> Array:
    return sys.modules["jax"].random.key_data(leaf)


def _weak(values: NDArray[Any]) -> Array:
    """Returns a weakly typed array of JAX; what is filled with a number of Python's is one."""
    weak = sys.modules["jax"].numpy.full(values.shape, np.zeros((), values.dtype).item())
    return weak.at[...].set(values) if weak.dtype == values.dtype else values


def _jax_array(like: Array, values: Array) -> Array:
    jax = sys.modules["jax"]
    if _is_key(like):
        return jax.random.wrap_key_data(values, impl=jax.random.key_impl(like))
    return jax.device_put(values, like.sharding)
