"""What the operation of the engine refuses is a status with one sentence, and no crash."""

from collections.abc import Callable
from pathlib import Path

import pytest
import tensorflow as tf

from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.op import operations
from tests.trainer.fused_operation import operation
from tests.trainer.processes import Trainer


def test_checked_numerics_name_an_angle_that_is_no_number(trainer: Trainer) -> None:
    trainer.call(f"{__name__}.with_checked_numerics")


def with_checked_numerics() -> None:
    compute = operation()
    tf.debugging.enable_check_numerics()
    with pytest.raises(tf.errors.InvalidArgumentError, match="QtjExpectation"):
        tf.function(compute)(tf.fill([2, 4], float("nan")), tf.zeros([21]))


@pytest.mark.parametrize("in_a_graph", [False, True])
@pytest.mark.parametrize(
    ("inputs", "weights", "sentence"),
    [
        ([3, 5], [21], "the inputs of the circuit must have the shape (batch, 4)"),
        ([3, 4], [20], "the weights of the circuit must have the shape (21,)"),
    ],
)
def test_arrays_of_other_shapes_are_a_status(
    inputs: list[int], weights: list[int], sentence: str, *, in_a_graph: bool
) -> None:
    compute: Callable[..., tf.Tensor] = tf.function(operation()) if in_a_graph else operation()

    with pytest.raises(tf.errors.InvalidArgumentError) as refused:
        compute(tf.zeros(inputs), tf.zeros(weights))

    assert sentence in str(refused.value)


def test_what_has_another_rank_is_refused_where_the_graph_is_made() -> None:
    with pytest.raises(ValueError, match="must be rank 2 but is rank 1"):
        tf.function(operation()).get_concrete_function(tf.TensorSpec([4]), tf.TensorSpec([21]))


@pytest.mark.parametrize(
    ("damage", "sentence"),
    [
        (lambda plan: plan[:-1], "the fused engine: the plan is damaged"),
        (lambda plan: plan[:40] + bytes([plan[40] ^ 1]) + plan[41:], "the fused engine: the plan is damaged"),
        (lambda _: b"", "the fused engine: the plan is damaged"),
        (lambda plan: plan[:4] + b"\x09" + plan[5:], "the fused engine: the plan was made for another version"),
    ],
    ids=["cut", "changed", "empty", "version"],
)
def test_a_damaged_plan_is_a_status(damage: Callable[[bytes], bytes], sentence: str) -> None:
    whole = operation()
    plan = damage(whole.attributes["plan"])
    compute = tf.function(lambda: operations().qtj_expectation(tf.zeros([3, 4]), tf.zeros([21]), plan=plan))

    with pytest.raises(tf.errors.InvalidArgumentError, match=sentence):
        compute()


@pytest.mark.slow
def test_a_batch_that_does_not_fit_is_one_sentence(trainer: Trainer) -> None:
    trainer.call(f"{__name__}.out_of_memory")


def out_of_memory() -> None:
    """The first step does not fit; a smaller one does."""
    import resource

    compute = operation(25)  # a state of 256 MiB
    small = operation()
    small(tf.zeros([1, 4]), tf.zeros([21]))
    used = int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (used + (300 << 20), used + (300 << 20)))
    with pytest.raises(tf.errors.ResourceExhaustedError, match="the fused engine: out of memory"):
        compute(tf.zeros([1, 25]), tf.zeros([21]))
    assert small(tf.zeros([1, 4]), tf.zeros([21])).shape == (1, 2)


def test_a_missing_library_of_operations_is_beyond_the_engine(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    from qtj_simulator.fused import op

    monkeypatch.setattr(op, "OPERATIONS", tmp_path / "libqtj_op.so")

    with pytest.raises(UnsupportedError, match=r"cannot load libqtj_op\.so \(.+\): install a wheel, or run python -m"):
        op.operations.__wrapped__()
