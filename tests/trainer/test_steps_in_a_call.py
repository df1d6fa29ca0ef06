"""Several short steps in one call: the same training as step by step."""

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from qtj_contract import Capture
from qtj_trainer.loop import synchronous
from qtj_trainer.loop.batches import batches
from qtj_trainer.loop.loop import Loop
from qtj_trainer.replica.captures import Captures
from qtj_trainer.replica.replica import Replica
from qtj_trainer.replica.signals import Stop
from qtj_trainer.stored.position import Position
from tests.trainer.processes import Trainer
from tests.trainer.test_curves import loop_of, options_of

TWO = """
import hashlib, json, os
from qtj_trainer.replicate.cluster import Cluster
from qtj_trainer.replicate.strategy import leave_together, start_tensorflow

cluster = Cluster.from_environment(os.environ)
strategy, _ = start_tensorflow(cluster)

from qtj_trainer.loop import synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.stored.position import Position
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

synchronous.CALL_SECONDS = 1000.0
work, options = Qcnn(), QcnnOptions(qubits=4, rounds=16, batch_size=4, epochs=2)
loop = synchronous.Synchronous(Task.of(work, options), strategy)
needed = {2, 6} if cluster.leads else {4, 5}
settled = [
    position.step for position in loop.positions(Position(), lambda step: step in needed) if loop.is_settled
]
[traced] = loop._steps._list_all_concrete_functions()
names = [node.op for node in traced.graph.as_graph_def().node]
for function in traced.graph.as_graph_def().library.function:
    names += [node.op for node in function.node_def]
weights = b"".join(each.tobytes() for each in loop.state())
print(json.dumps({
    "settled": settled, "steps": 2 * loop.steps, "weights": hashlib.sha256(weights).hexdigest(),
    "exchanges": sum(name.startswith("Collective") for name in names),
}), flush=True)
leave_together(strategy, cluster)
"""


@pytest.fixture(autouse=True)
def _calls_of_many_steps(monkeypatch: pytest.MonkeyPatch) -> None:
    """However slow this machine is, all steps up to a boundary are in one call."""
    monkeypatch.setattr(synchronous, "CALL_SECONDS", 1000.0)


def positions_of(loop: Loop, pause: Callable[[int], bool] = lambda _: False) -> list[tuple[Position, bool]]:
    """All positions of a training, each with whether the numbers are those of this position."""
    return [(each, loop.is_settled) for each in loop.positions(Position(), pause)]


def test_many_steps_in_a_call_train_as_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    options = options_of(epochs=3, batch_size=2)
    together = loop_of(options)
    positions = positions_of(together)
    monkeypatch.setattr(synchronous, "CALL_SECONDS", 0.0)
    one_by_one = loop_of(options)

    expected = positions_of(one_by_one)

    assert not all(settled for _, settled in positions)
    assert all(settled for _, settled in expected)
    assert [each.sums for each, _ in positions] == [each.sums for each, _ in expected]
    for ours, theirs in zip(together.state(), one_by_one.state(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_a_call_ends_with_the_epoch() -> None:
    positions = positions_of(loop_of(options_of(epochs=2)))

    assert [each.step for each, settled in positions if each.ends_epoch and not settled] == []
    assert [each.step for each, _ in positions] == list(range(1, len(positions) + 1))


def test_a_call_ends_where_the_state_is_needed(monkeypatch: pytest.MonkeyPatch) -> None:
    options = options_of(epochs=1, batch_size=2)
    loop = loop_of(options)
    for position in loop.positions(Position(), lambda step: step in (4, 5)):
        if position.step in (4, 5):
            assert loop.is_settled
        if position.step == 5:
            break
    monkeypatch.setattr(synchronous, "CALL_SECONDS", 0.0)
    other = loop_of(options)
    steps = other.positions(Position(), lambda _: False)
    for _ in range(5):
        next(steps)

    for ours, theirs in zip(loop.state(), other.state(), strict=True):
        np.testing.assert_array_equal(ours, theirs)


def test_the_first_call_has_one_step_because_nothing_is_known_yet() -> None:
    loop = loop_of(options_of(epochs=1))
    steps = loop.positions(Position(), lambda _: False)

    next(steps)

    assert loop.is_settled


@pytest.fixture
def replica(tmp_path: Path) -> Replica:
    return Replica.join({"QTJ_JOB": "qcnn", "QTJ_JOB_UID": "uid-1"}, Stop(), str(tmp_path))


def test_a_capture_needs_the_steps_one_by_one(replica: Replica) -> None:
    with Captures(replica, [Capture(step=4, steps=2)], Position()) as captures:
        before = [captures.need(after) for after in (1, 2, 3)]
        captures.reach(3, 0)
        during = [captures.need(after) for after in (4, 5)]
        captures.reach(5, 0)
        behind = captures.need(6)

    assert (before, during, behind) == ([False, False, True], [True, True], False)


def test_a_request_needs_its_step_too(replica: Replica) -> None:
    with Captures(replica, [], Position()) as captures:
        assert replica.telemetry.profile_requests
        replica.telemetry.profile_requests.add(Capture(step=4, steps=2))

        assert [captures.need(after) for after in (2, 3, 4)] == [False, True, False]


def test_a_capture_waits_for_the_end_of_the_call(replica: Replica) -> None:
    with Captures(replica, [Capture(epoch=1, steps=1)], Position()) as captures:
        captures.reach(1, 0, settled=False)
        during = captures.need(2)
        captures.reach(2, 0)

        assert (during, captures.need(3)) == (False, True)


@pytest.mark.parametrize(("proposed", "taken"), [([3, 5], 3), ([5, 3, 4], 3), ([1, 128], 1), ([128, 128], 128)])
def test_the_fewest_steps_that_anybody_proposes_are_taken(proposed: list[int], taken: int) -> None:
    votes = np.zeros(synchronous.MOST_STEPS)
    for each in proposed:
        votes[each - 1] += 1

    assert synchronous.fewest(votes) == taken


def test_processes_take_the_same_calls_and_exchange_once_in_a_step(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "two.py"
    program.write_text(TWO)

    ended = [each.end() for each in trainer.start_programs(2, program)]

    assert [each.code for each in ended] == [0, 0], ended[0].errors
    leader, follower = (json.loads(each.output.strip().splitlines()[-1]) for each in ended)
    assert leader == follower
    assert leader["exchanges"] == 1
    assert {2, 4, 5, 6} <= set(leader["settled"]), "where either of them needs the state"
    assert len(leader["settled"]) < leader["steps"]


def test_the_batches_have_no_end_so_nobody_asks_for_it() -> None:
    loop = loop_of(options_of(epochs=1))
    shares = [batches(loop.examples[0], 4, replica=index, replicas=2) for index in range(2)]

    assert [each.cardinality() for each in shares] == [tf.data.INFINITE_CARDINALITY] * 2


def test_a_mirrored_strategy_takes_many_steps_in_a_call() -> None:
    options = options_of(epochs=2)
    expected = loop_of(options)
    positions_of(expected)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr(tf.distribute, "get_strategy", lambda: tf.distribute.MirroredStrategy(["CPU:0"]))
        mirrored = loop_of(options)

    positions = positions_of(mirrored)

    assert not all(settled for _, settled in positions)
    for ours, theirs in zip(mirrored.state(), expected.state(), strict=True):
        np.testing.assert_allclose(ours, theirs, atol=1e-6)
