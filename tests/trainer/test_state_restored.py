"""What a state takes, it can put back: optimizers too, once they are built."""

from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.run.array_state import ArrayState
from qtj_trainer.run.tree import State
from tests.trainer.test_tree import refusal


class FakeOptimizer:
    """As an optimizer of Keras: it has no moments before it is built."""

    def __init__(self, *variables: Any) -> None:
        self.variables = [np.zeros(1), *variables]


def test_an_optimizer_that_is_built_after_the_start_is_refused_at_the_first_checkpoint() -> None:
    optimizer = FakeOptimizer()
    state = ArrayState(State(w=np.zeros(2), optimizer={"adam": optimizer}))
    optimizer.variables.append(np.zeros(2))

    with pytest.raises(UserError) as refused:
        state.state()

    assert str(refused.value) == (
        "optimizer/adam has 2 variables now, and had 1 when training began: build it before program.state(), an"
        " optimizer of Keras by optimizer.build(variables)"
    )


def test_variables_that_are_not_here_are_no_match() -> None:
    built, fresh = FakeOptimizer(np.ones(2)), FakeOptimizer()

    assert refusal(State(optimizer=built), State(optimizer=fresh)) == "optimizer has 2 variables there and 1 here"
