"""The numbers of an epoch on the training set and on the held-out set, from the loop itself."""

from functools import partial
from itertools import count
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
import tensorflow as tf

from qtj_trainer.loop.loop import Loop
from qtj_trainer.loop.synchronous import Synchronous
from qtj_trainer.loop.task import Task
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads import Examples
from qtj_trainer.workloads.qcnn import Qcnn, QcnnOptions

QCNN = Qcnn()


def options_of(**chosen: Any) -> QcnnOptions:
    return QcnnOptions(**{"qubits": 4, "rounds": 8, "batch_size": 4, **chosen})


def loop_of(options: QcnnOptions) -> Loop:
    return Synchronous(Task.of(QCNN, options), tf.distribute.get_strategy())


def epochs_of(loop: Loop, start: Position | None = None) -> list[Position]:
    return [each for each in loop.positions(start or Position(), lambda _: False) if each.ends_epoch]


def last_of(position: Position) -> Epoch:
    assert position.last
    return position.last


def evaluated(loop: Loop, examples: Examples) -> dict[str, float]:
    """Error and scores of the model, computed in one batch."""
    predictions = loop.model(examples.inputs)
    scores = {**QCNN.score(examples.labels, predictions), "loss": QCNN.errors(examples.labels, predictions)}
    return {name: float(np.mean(each)) for name, each in scores.items()}


def test_the_held_out_set_is_evaluated_after_the_epoch() -> None:
    loop = loop_of(options_of(epochs=2))

    last = last_of(epochs_of(loop)[-1])

    expected = evaluated(loop, loop.examples[1])
    assert {**last.scores, "loss": last.validation_loss} == pytest.approx(expected, abs=1e-5)


def test_the_training_set_is_evaluated_by_the_steps() -> None:
    loop = loop_of(options_of(epochs=1, learning_rate=1e-9, optimizer="sgd"))  # too small to change a score
    expected = evaluated(loop, loop.examples[0])

    [position] = epochs_of(loop)

    last = last_of(position)
    assert {**last.training_scores, "loss": last.loss} == pytest.approx(expected, abs=1e-5)


def test_the_scores_of_an_epoch_survive_an_interruption_within_it() -> None:
    options = options_of(epochs=1)
    whole = last_of(epochs_of(loop_of(options))[0])
    first, second = loop_of(options), loop_of(options)
    within = next(position for position in first.positions(Position(), lambda _: True) if position.step == 2)

    second.restore(first.state())
    resumed = last_of(epochs_of(second, within)[0])

    assert resumed.training_scores == whole.training_scores
    assert (resumed.loss, resumed.validation_loss) == (whole.loss, whole.validation_loss)


def test_an_epoch_names_the_learning_rate_of_its_last_step() -> None:
    loop = loop_of(options_of(epochs=2, learning_rate=0.5, warmup_steps=10, optimizer="sgd"))

    rates = [last_of(position).learning_rate for position in epochs_of(loop)]

    assert loop.steps == 6
    assert rates == pytest.approx([0.25, 0.5])


def stopped_early() -> tuple[Loop, list[Position]]:
    loop = loop_of(options_of(epochs=50, patience=2))
    return loop, epochs_of(loop)


def test_the_best_weights_are_taken_back() -> None:
    loop, positions = stopped_early()
    best = positions[-1].best
    assert best is not None
    assert best.number == len(positions) - 2 < 48

    loop.take_best()

    assert evaluated(loop, loop.examples[1])["loss"] == pytest.approx(best.validation_loss, abs=1e-5)


def test_a_training_that_has_stopped_early_does_not_continue_when_it_is_resumed() -> None:
    loop, positions = stopped_early()
    again = loop_of(options_of(epochs=50, patience=2))
    again.restore(loop.state())

    assert epochs_of(again, positions[-1]) == []
    loop.take_best()
    again.take_best()
    np.testing.assert_array_equal(again.model.get_weights()[0], loop.model.get_weights()[0])


def test_the_rate_of_an_epoch_leaves_out_what_is_no_training(monkeypatch: pytest.MonkeyPatch) -> None:
    """By a clock that goes on by a second at each look."""
    monkeypatch.setattr("qtj_trainer.loop.stopwatch.time", SimpleNamespace(perf_counter=partial(next, count(0.0))))
    loop = loop_of(options_of(epochs=2))
    rates = []
    for position in loop.positions(Position(), lambda _: False):
        if position.step == 1:
            with loop.stopwatch.paused():
                loop.stopwatch.seconds()
        if position.ends_epoch:
            rates.append(last_of(position).examples_per_second)

    examples = len(loop.examples[0])
    assert rates == [examples / 2, examples]
