"""Expectation values as a function and as a module of PyTorch, with first and second derivatives in both modes."""

from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from hashlib import sha256
from inspect import signature
from math import pi, prod
from secrets import token_hex
from typing import Any, NoReturn, Self
from weakref import WeakSet, WeakValueDictionary

import cirq
import torch
from torch import Tensor
from torch.autograd import Function, forward_ad
from torch.fx.experimental.proxy_tensor import get_proxy_mode

from qtj_simulator.groups import Groups
from qtj_simulator.specification import Readouts, Specification, Symbols, specified

__all__ = ["TorchLayer", "expectation_function"]

_TYPES = (torch.float32, torch.float64)
_NO_MORE = (
    "qtj_simulator.torch has no third derivatives, and neither mode of forward mode: use torch.func.jacrev of jacrev or"
    " torch.func.hessian for second derivatives"
)


def expectation_function(
    circuit: cirq.AbstractCircuit,
    readouts: Readouts,
    *,
    inputs: Symbols = (),
    weights: Symbols = (),
    threads: int | None = None,
    device: str | None = None,
) -> Callable[[Tensor, Tensor], Tensor]:
    """Returns a function of PyTorch for a circuit: f(inputs, weights), as `Engine.values`.

    It has first and second derivatives by both, in reverse mode and in forward mode (`torch.func.hessian`); others are
    refused. `torch.func.vmap` is one call of the engine. `torch.compile` takes it, with first derivatives. Several
    threads may call it. Tensors are on the CPU. With a tensor in float64, amplitudes are complex128, otherwise
    complex64, and values are in the same precision. A tensor of another shape or type, or on another device, is a
    ValueError or TypeError. The function can be copied and pickled.

    Args:
        circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
        readouts: The observables: one, or a list.
        inputs: The symbols with a value for each example, one column each.
        weights: The symbols with one value for all examples.
        threads: The number of threads; None: $OMP_NUM_THREADS, or the processors that this process may use.
        device: See `expectation_engine`.

    Returns:
        A function of inputs, (..., inputs), and weights, (weights,), whose values are (..., readouts).

    Raises:
        TypeError: If an argument has the wrong type.
        UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
        ValueError: If the circuit has other symbols.
    """
    return _Expectation(specified(circuit, readouts, inputs, weights), threads, device)


class TorchLayer(torch.nn.Module):  # type: ignore[misc]  # where PyTorch is not installed, it has no types
    """Expectation values of a circuit, with learned angles and derivatives by angles and inputs.

    Its parameter `angles` is in the state_dict. `to(torch.float64)` makes it compute with complex128 amplitudes.
    """

    def __init__(
        self,
        circuit: cirq.AbstractCircuit,
        readouts: Readouts,
        *,
        inputs: Symbols = (),
        weights: Symbols = (),
        initializer: Callable[[Tensor], Any] | None = None,
        dtype: torch.dtype | None = None,
        threads: int | None = None,
        device: str | None = None,
    ) -> None:
        """Plans the circuit.

        Args:
            circuit: The circuit, which starts from |0...0⟩. Its symbols are among `inputs` and `weights`.
            readouts: The observables: one, or a list.
            inputs: The symbols that a batch sets, one column each.
            weights: The symbols that the layer learns.
            initializer: Fills the tensor of initial angles, as the functions of `torch.nn.init` do. Without one, angles
                are uniform in [0, 2π), and follow `torch.manual_seed`.
            dtype: Of the angles: torch.float32 or torch.float64; None: PyTorch's default type.
            threads: See `expectation_function`.
            device: See `expectation_engine`.

        Raises:
            TypeError: If an argument has the wrong type.
            UnsupportedError: If the engine does not support the circuit or the machine; the message has the reason.
            ValueError: If the circuit has other symbols.
        """
        super().__init__()
        self._function = _Expectation(specified(circuit, readouts, inputs, weights), threads, device)
        self._initializer = initializer
        self.angles = torch.nn.Parameter(torch.empty(self._function.groups.weights, dtype=dtype))
        _check_type("dtype", self.angles.dtype)
        self.reset_parameters()

    def reset_parameters(self) -> None:
        """Draws the angles anew."""
        with torch.no_grad():
            (self._initializer or _uniform)(self.angles)

    def forward(self, inputs: Tensor | None = None) -> Tensor:
        """Returns (..., readouts) for (..., inputs); a circuit without inputs needs none."""
        return self._function(self.angles.new_empty(0) if inputs is None else inputs, self.angles)

    def extra_repr(self) -> str:
        """Returns the sizes, for `print(layer)`."""
        groups = self._function.groups
        return f"inputs={groups.inputs}, angles={groups.weights}, readouts={groups.readouts}"


def _uniform(angles: Tensor) -> None:
    angles.uniform_(0, 2 * pi)


class _Expectation:
    """A circuit as a function of tensors. It never changes, so copies share it; by pickle, it is planned anew."""

    def __init__(self, specification: Specification, threads: int | None, device: str | None) -> None:
        self._specification, self._where = specification, (threads, device)
        self.groups = Groups(**specification._asdict(), threads=threads, device=device)
        _ALIVE.add(self)

    @cached_property
    def name(self) -> str:
        """What a compiled graph calls the circuit; another circuit has another name, also in another process.

        PyTorch stores graphs, in its cache on disk and by `torch.export`. A circuit with gates that Cirq cannot write
        gets a name that none had before.
        """
        try:
            text = repr((self._specification.to_config(), *self._where))
        except TypeError:
            text = token_hex()
        name = sha256(text.encode()).hexdigest()
        self.groups = _PLANNED.setdefault(name, self.groups)  # each function of this circuit keeps it alive
        return name

    def __deepcopy__(self, _: Any) -> Self:
        return self

    def __reduce__(self) -> tuple[Any, ...]:
        return _planned_anew, (self._specification.to_config(), *self._where)

    def __call__(self, inputs: Tensor, weights: Tensor) -> Tensor:
        _check(self.groups, inputs, weights)
        wide = torch.promote_types(inputs.dtype, weights.dtype)
        rows, shared = inputs.to(wide), weights.to(wide)
        if rows.ndim != 2:
            rows = rows.reshape(prod(rows.shape[:-1]), self.groups.inputs)
        if torch.compiler.is_compiling() or get_proxy_mode():
            values = _compiled(rows, shared, _name_of(self))
        else:
            values = _Values.apply(rows, shared, self.groups)
        return values if inputs.ndim == 2 else values.reshape(*inputs.shape[:-1], self.groups.readouts)


def _planned_anew(config: Mapping[str, Any], threads: int | None, device: str | None) -> _Expectation:
    """Restores a function from strings, since sums of Pauli strings of Cirq cannot be pickled."""
    return _Expectation(Specification.from_config(config), threads, device)


def _check(groups: Groups, inputs: Tensor, weights: Tensor) -> None:
    for name, tensor in (("inputs", inputs), ("weights", weights)):
        if not isinstance(tensor, Tensor):
            raise TypeError(f"{name} is a {type(tensor).__name__} and no tensor: use torch.as_tensor")
        _check_type(name, tensor.dtype)
        if tensor.device.type != "cpu":
            raise ValueError(f"{name} is on {tensor.device}, and the simulator takes CPU tensors: use {name}.cpu()")
    if inputs.shape[-1:] != (groups.inputs,) or weights.shape != (groups.weights,):
        raise ValueError(
            f"inputs are {tuple(inputs.shape)} and weights {tuple(weights.shape)}, not (..., {groups.inputs}) and"
            f" ({groups.weights},): use torch.func.vmap for several sets of weights"
        )


def _check_type(name: str, dtype: torch.dtype) -> None:
    if dtype not in _TYPES:
        raise TypeError(f"{name} is {dtype}: the simulator takes torch.float32 and torch.float64")


class _Derivable(Function):  # type: ignore[misc]  # where PyTorch is not installed, it has no types
    """A function of tensors and a circuit that saves all of them for both modes, and has a vmap in one call."""

    def __init_subclass__(cls) -> None:
        """Stores the signature of `forward`: PyTorch reads it at each call, which takes longer than a small circuit."""
        super().__init_subclass__()
        cls.forward.__signature__ = signature(cls.forward)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        *tensors, ctx.groups = inputs
        ctx.save_for_backward(*tensors)
        ctx.save_for_forward(*tensors)


class _Values(_Derivable):
    """Values of inputs (*groups, batch, inputs) and weights (*groups, weights)."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, groups: Groups) -> Tensor:
        return _on_arrays(groups.values, x, w)

    @staticmethod
    def backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
        x, w = ctx.saved_tensors
        return *_like((x, w), _Slopes.apply(x, w, upstream, ctx.groups)), None

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, dw: Tensor | None, _: None) -> Tensor:
        x, w = ctx.saved_tensors
        along = _zeros_for_none((x, w), (dx, dw))
        upstream = x.new_zeros(*_batch(x, w), ctx.groups.readouts)
        values: Tensor = _Curvature.apply(x, w, upstream, *along, ctx.groups)[2]
        return values

    @staticmethod
    def vmap(info: Any, dims: Sequence[int | None], *given: Any) -> Any:
        return _Values.apply(*_grouped(dims, given)), 0


class _Slopes(_Derivable):
    """The gradients of sum(upstream * values) by inputs and by weights."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, upstream: Tensor, groups: Groups) -> Any:
        return _on_arrays(groups.gradients, x, w, upstream)

    @staticmethod
    def backward(ctx: Any, *by: Tensor) -> tuple[Tensor | None, ...]:
        saved = ctx.saved_tensors
        return *_like(saved, _Curvature.apply(*saved, *by, ctx.groups)), None

    @staticmethod
    def jvp(ctx: Any, dx: Tensor | None, dw: Tensor | None, du: Tensor | None, _: None) -> tuple[Tensor, Tensor]:
        """Second derivatives are symmetric: along a direction, they are the gradient of the slope in it."""
        x, w, upstream = ctx.saved_tensors
        along = _zeros_for_none((x, w), (dx, dw))
        by_x, by_w, _ = _Curvature.apply(x, w, upstream, *along, ctx.groups)
        if du is None:
            return by_x, by_w
        more_x, more_w = _Slopes.apply(x, w, du, ctx.groups)
        return by_x + more_x, by_w + more_w

    @staticmethod
    def vmap(info: Any, dims: Sequence[int | None], *given: Any) -> Any:
        return _Slopes.apply(*_grouped(dims, given)), (0, 0)


class _Curvature(_Derivable):
    """The gradients of sum(along * slopes) by inputs, weights and upstream."""

    @staticmethod
    def forward(x: Tensor, w: Tensor, upstream: Tensor, dx: Tensor, dw: Tensor, groups: Groups) -> Any:
        return _on_arrays(groups.curvature, x, w, upstream, dx, dw)

    @staticmethod
    def backward(ctx: Any, *_: Tensor) -> NoReturn:
        raise NotImplementedError(_NO_MORE)

    @staticmethod
    def jvp(ctx: Any, *_: Any) -> NoReturn:
        raise NotImplementedError(_NO_MORE)

    @staticmethod
    def vmap(info: Any, dims: Sequence[int | None], *given: Any) -> Any:
        return _Curvature.apply(*_grouped(dims, given)), (0, 0, 0)


def _on_arrays(function: Callable[..., Any], *tensors: Tensor) -> Any:
    found = function(*(each.numpy(force=True) for each in tensors))
    return tuple(map(torch.from_numpy, found)) if isinstance(found, tuple) else torch.from_numpy(found)


def _grouped(dims: Sequence[int | None], given: Sequence[Any]) -> list[Any]:
    """Puts the axis of a vmap first; a tensor that has none gets one of length 1."""
    return [
        each.movedim(dim, 0) if dim is not None else each.unsqueeze(0) if isinstance(each, Tensor) else each
        for dim, each in zip(dims, given, strict=True)
    ]


def _like(tensors: Sequence[Tensor], gradients: Sequence[Tensor]) -> list[Tensor]:
    """Sums gradients over the groups that share a tensor."""
    return [
        by if by.shape == each.shape else by.sum_to_size(each.shape)
        for each, by in zip(tensors, gradients, strict=True)
    ]


def _zeros_for_none(tensors: Sequence[Tensor], tangents: Sequence[Tensor | None]) -> list[Tensor]:
    return [torch.zeros_like(each) if along is None else along for each, along in zip(tensors, tangents, strict=True)]


def _batch(x: Tensor, w: Tensor) -> tuple[int, ...]:
    """Returns (*groups, batch) of the values."""
    return *torch.broadcast_shapes(x.shape[:-2], w.shape[:-1]), x.shape[-2]


# For torch.compile, which knows a circuit by a name and traces no calls of NumPy.
_PLANNED: WeakValueDictionary[str, Groups] = WeakValueDictionary()
_ALIVE: WeakSet[_Expectation] = WeakSet()
"""All of this process; those that no graph has asked for have no name yet."""


@torch.compiler.assume_constant_result  # type: ignore[untyped-decorator]
def _name_of(expectation: _Expectation) -> str:
    _refuse_forward_mode()
    return expectation.name


def _refuse_forward_mode() -> None:
    """PyTorch takes the slopes of an operator of ours in forward mode as 0, and says nothing."""
    if getattr(forward_ad, "_current_level", -1) >= 0:  # there is no public way to ask
        raise NotImplementedError(
            "qtj_simulator.torch has no forward mode in a graph, such as torch.compile of jvp, jacfwd or hessian: call"
            " the function without torch.compile, or use torch.func.jacrev"
        )


def _named(name: str) -> Groups:
    if groups := _PLANNED.get(name):
        return groups
    if found := [each.groups for each in tuple(_ALIVE) if each.name == name]:
        return found[0]
    raise LookupError(
        "qtj_simulator.torch: the graph has a circuit that this process has not made: make the same layer or function"
        " first, with the same circuit, readouts and symbols"
    )


@torch.library.custom_op("qtj_simulator::values", mutates_args=())  # type: ignore[untyped-decorator]
def _compiled(x: Tensor, w: Tensor, circuit: str) -> Tensor:
    _refuse_forward_mode()
    values: Tensor = _on_arrays(_named(circuit).values, x, w)
    return values


@torch.library.custom_op("qtj_simulator::slopes", mutates_args=())  # type: ignore[untyped-decorator]
def _compiled_slopes(x: Tensor, w: Tensor, upstream: Tensor, circuit: str) -> tuple[Tensor, Tensor]:
    by_inputs, by_weights = _on_arrays(_named(circuit).gradients, x, w, upstream)
    return by_inputs, by_weights


@_compiled.register_fake  # type: ignore[untyped-decorator]
def _(x: Tensor, w: Tensor, circuit: str) -> Tensor:
    return x.new_empty(*_batch(x, w), _named(circuit).readouts)


@_compiled_slopes.register_fake  # type: ignore[untyped-decorator]
def _(x: Tensor, w: Tensor, upstream: Tensor, circuit: str) -> tuple[Tensor, Tensor]:
    batch = _batch(x, w)
    return x.new_empty(*batch, x.shape[-1]), w.new_empty(*batch[:-1], w.shape[-1])


def _backward(ctx: Any, upstream: Tensor) -> tuple[Tensor | None, ...]:
    x, w = ctx.saved_tensors
    return *_like((x, w), _compiled_slopes(x, w, upstream, ctx.groups)), None


def _no_second_derivatives(ctx: Any, *_: Tensor) -> NoReturn:
    raise NotImplementedError(
        "qtj_simulator.torch has only first derivatives under torch.compile: call the function without it"
    )


_compiled.register_autograd(_backward, setup_context=_Derivable.setup_context)
_compiled_slopes.register_autograd(_no_second_derivatives)
_compiled.register_vmap(lambda info, dims, *given: (_compiled(*_grouped(dims, given)), 0))
_compiled_slopes.register_vmap(lambda info, dims, *given: (_compiled_slopes(*_grouped(dims, given)), (0, 0)))
