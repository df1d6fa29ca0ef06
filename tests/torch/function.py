"""The function of PyTorch: values, and first and second derivatives, are those of Cirq, and a vmap is one call."""

import copy
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
import torch
from torch.autograd import gradcheck, gradgradcheck

from tests.torch.cases import CASE, NO_INPUTS, drawn, function_of
from tests.trainer.face_cases import calls_from_now_on

FUNCTION = function_of(CASE)


def squared(inputs: Any, weights: Any) -> Any:
    return (FUNCTION(inputs, weights) ** 2).sum()


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64], ids=["float32", "float64"])
@pytest.mark.parametrize("batch", [0, 1, 3])
def test_values_are_those_of_cirq(batch: int, dtype: Any) -> None:
    rows, weights = drawn(batch, 2, dtype=dtype), drawn(2, dtype=dtype)

    found = FUNCTION(rows, weights)

    assert (found.shape, found.dtype) == ((batch, 2), dtype)
    known = CASE.values(rows.double().numpy(), weights.double().numpy()).reshape(batch, 2)
    np.testing.assert_allclose(found, known, atol=3e-5 if dtype == torch.float32 else 1e-8)


def test_a_batch_is_what_a_loop_computes_whatever_its_shape() -> None:
    rows, weights = drawn(3, 2, 2), drawn(2)
    loop = torch.stack([FUNCTION(row, weights) for row in rows.reshape(6, 2)])

    np.testing.assert_allclose(FUNCTION(rows, weights), loop.reshape(3, 2, 2), atol=1e-12)


def test_the_wider_type_counts() -> None:
    inputs, weights = drawn(3, 2, dtype=torch.float32, grad=True), drawn(2, grad=True)
    found = FUNCTION(inputs, weights)
    found.sum().backward()

    assert (found.dtype, inputs.grad.dtype, weights.grad.dtype) == (torch.float64, torch.float32, torch.float64)


@pytest.mark.parametrize("batch", [1, 3])
def test_first_and_second_derivatives_are_differences(batch: int) -> None:
    given = drawn(batch, 2, grad=True), drawn(2, grad=True)

    assert gradcheck(FUNCTION, given, check_forward_ad=True)
    assert gradgradcheck(FUNCTION, given, check_fwd_over_rev=True)


def test_gradients_are_slopes_of_cirq_in_float32() -> None:
    inputs, weights = drawn(3, 2, dtype=torch.float32, grad=True), drawn(2, dtype=torch.float32, grad=True)
    upstream, along = np.array([[0.5, -1.0], [2.0, 0.3], [1.0, 0.0]]), (np.full((3, 2), 0.7), np.array([1.0, -0.4]))

    FUNCTION(inputs, weights).backward(torch.tensor(upstream, dtype=torch.float32))

    found = float((inputs.grad.numpy() * along[0]).sum() + (weights.grad.numpy() * along[1]).sum())
    known = CASE.slope(inputs.detach().double().numpy(), weights.detach().double().numpy(), upstream, along)
    assert found == pytest.approx(known, abs=3e-4)


def test_a_circuit_without_inputs() -> None:
    angle = torch.tensor([0.3], requires_grad=True)
    value = function_of(NO_INPUTS)(torch.empty(0), angle)
    value.sum().backward()

    assert (value.item(), angle.grad.item()) == pytest.approx((np.cos(0.3), -np.sin(0.3)), abs=1e-6)


@pytest.mark.parametrize("axes", [(0, None), (None, 0), (0, 0)], ids=["inputs", "weights", "both"])
def test_a_vmap_is_one_call_with_the_values_and_gradients_of_many(
    axes: tuple[int | None, int | None], monkeypatch: pytest.MonkeyPatch
) -> None:
    x = drawn(4, 3, 2) if axes[0] == 0 else drawn(3, 2)
    w = drawn(4, 2) if axes[1] == 0 else drawn(2)
    step = torch.func.grad_and_value(squared, (0, 1))
    singles = [step(x[i] if axes[0] == 0 else x, w[i] if axes[1] == 0 else w) for i in range(4)]
    calls = calls_from_now_on(monkeypatch)

    (by_x, by_w), values = torch.func.vmap(step, axes)(x, w)

    assert calls == ["values", "gradients"]
    for found, known in (
        (values, [value for _, value in singles]),
        (by_x, [slopes[0] for slopes, _ in singles]),
        (by_w, [slopes[1] for slopes, _ in singles]),
    ):
        np.testing.assert_allclose(found, torch.stack(known), atol=1e-10)


@pytest.mark.parametrize("axes", [(0, None), (None, 0)], ids=["inputs", "weights"])
def test_the_gradient_of_a_vmap_is_summed_over_what_groups_share(axes: tuple[int | None, int | None]) -> None:
    given = drawn(4, 3, 2) if axes[0] == 0 else drawn(3, 2), drawn(4, 2) if axes[1] == 0 else drawn(2)
    step, many = torch.func.grad(squared, (0, 1)), torch.func.vmap(squared, axes)

    found = torch.func.grad(lambda x, w: many(x, w).sum(), (0, 1))(*given)

    each = torch.func.vmap(step, axes)(*given)
    for by, apart, axis in zip(found, each, axes, strict=True):
        np.testing.assert_allclose(by, apart if axis == 0 else apart.sum(0), atol=1e-10)


def test_hessians_of_both_modes_are_equal() -> None:
    given = drawn(3, 2), drawn(2)
    reverse = torch.func.jacrev(torch.func.jacrev(squared, (0, 1)), (0, 1))(*given)
    forward = torch.func.hessian(squared, (0, 1))(*given)

    for row, other in zip(reverse, forward, strict=True):
        for block, same in zip(row, other, strict=True):
            np.testing.assert_allclose(block, same, atol=1e-10)
    assert reverse[1][1].abs().max() > 0.1


def test_derivatives_that_it_has_not_are_refused() -> None:
    given, transform = (drawn(3, 2), drawn(2)), torch.func
    with pytest.raises(NotImplementedError, match="no third derivatives"):
        transform.jacrev(transform.jacrev(transform.jacrev(squared)))(*given)
    with pytest.raises(NotImplementedError, match=r"use torch\.func\.jacrev"):
        transform.jacfwd(transform.jacfwd(squared))(*given)


@pytest.mark.parametrize(
    ("inputs", "weights", "message"),
    [
        (drawn(3, 1), drawn(2), r"inputs are \(3, 1\) and weights \(2,\), not \(\.\.\., 2\) and \(2,\)"),
        (drawn(3, 2), drawn(4, 2), r"use torch\.func\.vmap for several sets of weights"),
        (torch.tensor(1.0), drawn(2), r"inputs are \(\)"),
        (drawn(3, 2).to(torch.complex64), drawn(2), r"inputs is torch\.complex64"),
        (drawn(3, 2), drawn(2).half(), r"weights is torch\.float16: the simulator takes torch\.float32"),
        (torch.ones(3, 2, dtype=torch.int64), drawn(2), r"inputs is torch\.int64"),
        (np.ones((3, 2)), drawn(2), r"inputs is a ndarray and no tensor: use torch\.as_tensor"),
    ],
)
def test_a_tensor_that_it_does_not_take_is_refused_in_a_sentence(inputs: Any, weights: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError), match=message):
        FUNCTION(inputs, weights)


def test_a_tensor_on_another_device_is_refused() -> None:
    with pytest.raises(ValueError, match=r"inputs is on meta, and the simulator takes CPU tensors: use inputs\.cpu"):
        FUNCTION(torch.empty(3, 2, device="meta"), drawn(2))


def test_a_copy_computes_the_same() -> None:
    given = drawn(3, 2), drawn(2)
    for other in (copy.deepcopy(FUNCTION), pickle.loads(pickle.dumps(FUNCTION))):
        assert torch.equal(other(*given), FUNCTION(*given))


def test_threads_may_call_it_at_once() -> None:
    rows, weights = drawn(40, 3, 2), drawn(2)
    step = torch.func.grad_and_value(squared, 1)
    known = [step(each, weights) for each in rows]

    with ThreadPoolExecutor(8) as pool:
        found = list(pool.map(lambda each: step(each, weights), rows))

    for one, other in zip(known, found, strict=True):
        assert all(map(torch.equal, one, other))
