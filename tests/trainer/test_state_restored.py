"""What a state takes, it can put back: read-only arrays, weak types of JAX, optimizers that are not built yet."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from qtj_trainer.arrays.tree import State
from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import ArrayState
from tests.trainer.test_sharing import resumed
from tests.trainer.test_tree import refusal, through_json


class FakeOptimizer:
    """As an optimizer of Keras: it has no moments before it is built."""

    def __init__(self, *variables: Any) -> None:
        self.variables = [np.zeros(1), *variables]


def test_variables_that_are_not_here_are_no_match() -> None:
    built, fresh = FakeOptimizer(np.ones(2)), FakeOptimizer()

    assert refusal(State(optimizer=built), State(optimizer=fresh)) == "optimizer has 2 variables there and 1 here"


@pytest.mark.parametrize("fixed", [np.broadcast_to(np.float32(0), (3,)), np.asarray(jnp.zeros(3))])
def test_an_array_that_is_read_only_is_replaced(fixed: Any) -> None:
    state = resumed(State(w=np.array([1, 2, 3], np.float32)), State(w=fixed))

    assert state.w.tolist() == [1, 2, 3]
    assert fixed.tolist() == [0, 0, 0]
    state.w -= 1


@pytest.mark.parametrize(
    "made",
    [jnp.asarray(0.1), jnp.asarray(7), jnp.asarray(1 + 2j), jnp.full((2, 2), 0.1), jnp.full((0,), 1), jnp.float32(0.1)],
)
@pytest.mark.parametrize("started_weak", [True, False])
def test_a_weak_type_of_jax_stays_what_it_was(made: jax.Array, started_weak: bool) -> None:
    start = jnp.full(made.shape, 0 * made.ravel()[:1].sum().item()) if started_weak else jnp.zeros_like(made)

    back = through_json({"rate": made}, {"rate": start.astype(made.dtype) if not started_weak else start})["rate"]

    assert (back.weak_type, back.dtype, back.shape) == (made.weak_type, made.dtype, made.shape)
    assert np.asarray(back).tobytes() == np.asarray(made).tobytes()
    assert (back * jnp.ones((), jnp.bfloat16)).dtype == (made * jnp.ones((), jnp.bfloat16)).dtype


def test_weights_whose_name_is_taken_are_refused() -> None:
    with pytest.raises(UserError) as refused:
        ArrayState({"structure.json": np.ones(1)}).dump()

    assert str(refused.value) == "an array of the weights has the reserved name structure.json: give it another key"
