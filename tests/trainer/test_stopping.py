"""Early stopping by itself: what is better, and when it is enough."""

from functools import reduce

import pytest

from qtj_trainer.loop.stopping import best_of, has_stopped
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads.options import Options


def epoch(number: int, loss: float) -> Epoch:
    return Epoch(number, 3 * number, 0.5, {}, 100.0, validation_loss=loss)


def position(options: Options, *losses: float) -> Position:
    """The position after epochs with these losses on the held-out set."""

    def after(before: Position, finished: Epoch) -> Position:
        return Position(finished.step, finished, best=best_of(before.best, finished, options))

    return reduce(after, (epoch(number, loss) for number, loss in enumerate(losses, 1)), Position())


def best(options: Options, *losses: float) -> int:
    found = position(options, *losses).best
    assert found is not None
    return found.number


def test_the_best_epoch_has_the_lowest_loss() -> None:
    assert best(Options(patience=9), 0.5, 0.3, 0.4, 0.2, 0.6) == 4


def test_of_equal_epochs_the_first_is_the_best() -> None:
    assert best(Options(patience=9), 0.5, 0.3, 0.3) == 2


def test_a_little_better_is_no_better() -> None:
    assert best(Options(patience=9, min_delta=0.25), 1.0, 0.875, 0.75, 0.5) == 4


@pytest.mark.parametrize("losses", [(0.5, 0.6, 0.7), (0.5, 0.4, 0.4, 0.6)])
def test_training_stops_when_patience_is_over(losses: tuple[float, ...]) -> None:
    assert has_stopped(position(Options(patience=2), *losses), Options(patience=2))


@pytest.mark.parametrize("losses", [(0.5,), (0.5, 0.6), (0.5, 0.6, 0.4), (0.5, 0.4, 0.6)])
def test_training_continues_within_its_patience(losses: tuple[float, ...]) -> None:
    assert not has_stopped(position(Options(patience=2), *losses), Options(patience=2))


def test_without_patience_no_epoch_is_the_best_and_nothing_stops() -> None:
    options = Options()
    worse = position(options, 0.1, 0.2, 0.3, 0.4)

    assert worse.best is None
    assert not has_stopped(worse, options)


def test_nothing_stops_within_an_epoch() -> None:
    options = Options(patience=1)
    stopped = position(options, 0.1, 0.2)

    assert has_stopped(stopped, options)
    assert not has_stopped(Position(stopped.step + 1, stopped.last, (0.5,), stopped.best), options)
