"""Early stopping and ports at the edges of what they take."""

import socket

import pytest

import qtj_contract as contract
from qtj_trainer.loop.stopping import best_of, has_stopped
from qtj_trainer.replica.telemetry import check_free, port_from
from qtj_trainer.stored.position import Epoch, Position
from qtj_trainer.workloads.options import Options


def epoch(number: int, loss: float | None) -> Epoch:
    return Epoch(number, 3 * number, 0.5, {}, 100.0, validation_loss=loss)


def test_a_loss_that_is_lower_by_too_little_is_no_better() -> None:
    options = Options(patience=3, min_delta=0.25)

    assert best_of(epoch(1, 1.0), epoch(2, 0.875), options) == epoch(1, 1.0)
    assert best_of(epoch(1, 1.0), epoch(2, 0.75), options) == epoch(1, 1.0)
    assert best_of(epoch(1, 1.0), epoch(2, 0.5), options) == epoch(2, 0.5)


def test_an_epoch_without_a_loss_on_the_held_out_set_is_worse_than_any() -> None:
    options = Options(patience=3)

    assert best_of(epoch(1, None), epoch(2, 9.0), options) == epoch(2, 9.0)
    assert best_of(epoch(1, 9.0), epoch(2, None), options) == epoch(1, 9.0)


def test_without_a_best_epoch_nothing_stops() -> None:
    assert not has_stopped(Position(3, epoch(1, 0.5)), Options(patience=1))


@pytest.mark.parametrize(("text", "port"), [("0", 0), ("65535", 65535), ("9090", 9090), ("", None), (None, None)])
def test_a_port_is_a_number_up_to_65535_or_none(text: str | None, port: int | None) -> None:
    environment = {} if text is None else {"QTJ_METRICS_PORT": text}

    assert port_from(environment, contract.Env.METRICS_PORT) == port


def test_a_port_that_is_free_is_not_refused_and_not_kept() -> None:
    with socket.socket() as probe:
        probe.bind(("", 0))
        port = probe.getsockname()[1]

    check_free(port, contract.Env.PROFILER_PORT)

    with socket.create_server(("", port)) as server:
        assert server.getsockname()[1] == port
