"""Progress over HTTP."""

import socket
import urllib.error
import urllib.request
from pathlib import Path

import pytest

import qtj_contract as contract
from qtj_contract.progress_log import EpochRecord, read_progress
from qtj_trainer.errors import UserError
from qtj_trainer.replica.telemetry import Telemetry, check_free, port_from
from qtj_trainer.stored.progress_log import log_progress
from tests.missing import skip_or_fail


def get(port: int, path: str, host: str = "127.0.0.1") -> str:
    with urllib.request.urlopen(f"http://{host}:{port}{path}", timeout=5) as answer:
        return str(answer.read(), "utf-8")


def test_progress_is_served_as_the_operator_reads_it() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0, epochs=25, step=0))
    port = telemetry.serve(0)
    halfway = contract.Progress(epoch=12, epochs=25, step=84, loss=0.2, accuracy=0.9, examples_per_second=1000.0)

    telemetry.progress = halfway

    assert contract.Progress.parse(get(port, contract.PROGRESS_PATH)) == halfway


@pytest.fixture
def _with_ipv6() -> None:
    if not socket.has_dualstack_ipv6():
        skip_or_fail("this machine has no IPv6")


@pytest.mark.usefixtures("_with_ipv6")
def test_a_cluster_with_ipv6_alone_reads_the_progress_too() -> None:
    port = Telemetry(contract.Progress(epoch=3)).serve(0)

    assert contract.Progress.parse(get(port, contract.PROGRESS_PATH, "[::1]")) == contract.Progress(epoch=3)


@pytest.mark.usefixtures("_with_ipv6")
def test_a_port_that_is_taken_with_ipv6_alone_is_not_free() -> None:
    with socket.create_server(("::1", 0), family=socket.AF_INET6) as taken:
        port = taken.getsockname()[1]

        with pytest.raises(UserError, match=f"port {port} .*set QTJ_PROFILER_PORT"):
            check_free(port, contract.Env.PROFILER_PORT)


def test_what_the_program_does_is_served_beside_the_progress_until_it_trains() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0, epochs=25, step=0), "loading TensorFlow")
    port = telemetry.serve(0)

    before = get(port, contract.PROGRESS_PATH)
    telemetry.activity = ""

    assert contract.Progress.parse(before) == telemetry.progress
    assert contract.activity_in(before) == "loading TensorFlow"
    assert contract.activity_in(get(port, contract.PROGRESS_PATH)) == ""


def test_metrics_are_served_as_prometheus_reads_them() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0, epochs=25, step=0))
    port = telemetry.serve(0)

    telemetry.progress = contract.Progress(
        epoch=3, epochs=25, step=21, loss=0.25, validation_loss=0.5, training_accuracy=0.75
    )

    lines = get(port, "/metrics").splitlines()
    assert "qtj_training_epoch 3.0" in lines
    assert "qtj_training_loss 0.25" in lines
    assert "qtj_training_validation_loss 0.5" in lines
    assert "qtj_training_training_accuracy 0.75" in lines


def test_a_number_that_is_not_known_yet_is_not_served() -> None:
    port = Telemetry(contract.Progress(epoch=0, epochs=25, step=0)).serve(0)

    assert "qtj_training_loss" not in get(port, "/metrics")


def test_another_path_is_not_found() -> None:
    port = Telemetry(contract.Progress(epoch=0, epochs=1, step=0)).serve(0)

    with pytest.raises(urllib.error.HTTPError, match="404") as problem:
        get(port, "/")
    problem.value.close()


def test_a_taken_port_is_named() -> None:
    telemetry = Telemetry(contract.Progress(epoch=0, epochs=1, step=0))
    port = telemetry.serve(0)

    with pytest.raises(UserError, match=f"metrics on port {port} .*set QTJ_METRICS_PORT"):
        telemetry.serve(port)
    with pytest.raises(UserError, match=f"port {port} .*set QTJ_PROFILER_PORT"):
        check_free(port, contract.Env.PROFILER_PORT)


@pytest.mark.parametrize("text", ["http", "-1", "65536", "80.5", " 80"])
def test_a_port_that_is_none_is_quoted(text: str) -> None:
    with pytest.raises(UserError, match=f"QTJ_METRICS_PORT is '{text}'"):
        port_from({"QTJ_METRICS_PORT": text}, contract.Env.METRICS_PORT)


def test_an_epoch_after_a_torn_line_is_recorded_on_a_new_line(tmp_path: Path) -> None:
    log = tmp_path / "progress.jsonl"
    log.write_text('{"attempt": 1, "epo')

    log_progress({"QTJ_PROGRESS_LOG": str(log), "QTJ_ATTEMPT": "2"}, contract.Progress(epoch=4, loss=0.5))

    assert read_progress(log.read_text()).epochs == [EpochRecord(4, 2, 0.5)]
