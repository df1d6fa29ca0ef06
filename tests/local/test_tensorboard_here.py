"""`qtj tensorboard` on this machine, with the TensorBoard of this environment."""

import json
import signal
import socket
import subprocess
import sys
from contextlib import suppress
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from qtj.local.folder import Folder
from tests.local.laptop import Ended, Laptop, Running, toy_job
from tests.local.records import record
from tests.tensorboard import write_curve
from tools.background import free_port, wait_until


@pytest.fixture
def run(laptop: Laptop) -> Folder:
    """A run of the job `toy` that has ended."""
    folder = Folder(laptop.folder / "qtj-artifacts" / "toy" / "1")
    folder.claim()
    folder.save(record(phase="Complete"))
    folder.release()
    return folder


def with_curves(run: Folder) -> Folder:
    write_curve(run.path / "logs" / "uid-1" / "train", "loss", [0.8, 0.4])
    return run


def shows_curves(port: int) -> bool:
    with suppress(OSError), urlopen(f"http://127.0.0.1:{port}/data/plugin/scalars/tags", timeout=30) as answer:
        return "uid-1/train" in json.load(answer)
    return False


def until_it_shows_curves(board: Running, port: int) -> None:
    wait_until(lambda: board.process.poll() is not None or shows_curves(port), seconds=300)
    assert board.process.poll() is None, board.end().errors


def ended_by(board: Running, ending: signal.Signals) -> Ended:
    board.process.send_signal(ending)
    return board.end()


@pytest.mark.parametrize("ending", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=pytest.mark.slow)])
def test_it_serves_the_curves_of_a_run_until_it_is_stopped(laptop: Laptop, run: Folder, ending: signal.Signals) -> None:
    logs, port = with_curves(run).path / "logs", free_port()

    board = laptop.start("tensorboard", "toy", "--port", str(port))
    assert board.process.stdout is not None
    sentence = board.process.stdout.readline()
    until_it_shows_curves(board, port)
    of_another_site = Request(f"http://127.0.0.1:{port}/data/runs", headers={"Sec-Fetch-Site": "cross-site"})
    with pytest.raises(HTTPError, match="403"):
        urlopen(of_another_site, timeout=30)
    ended = ended_by(board, ending)

    assert (ended.code, ended.errors) == (0, "")
    assert sentence == f"TensorBoard shows {logs} at http://127.0.0.1:{port}/ until you press Ctrl-C\n"
    wait_until(lambda: laptop.processes() == {})


def test_a_bucket_that_cannot_be_read_is_one_sentence(laptop: Laptop) -> None:
    folder = Folder(laptop.folder / "qtj-artifacts" / "toy" / "1")
    folder.claim("none://bucket/toy")  # gs:// without a network takes minutes to fail
    folder.save(record(phase="Complete"))
    folder.release()

    ended = laptop.qtj("tensorboard", "toy", "--port=0")

    assert (ended.code, ended.output) == (2, "")
    (sentence,) = ended.errors.splitlines()
    assert sentence.startswith("qtj: TensorBoard cannot start: none://bucket/toy/logs cannot be read: ")


def test_a_file_names_its_job(laptop: Laptop, run: Folder) -> None:
    laptop.write(toy_job())
    logs = run.path / "logs"

    ended = laptop.qtj("tensorboard", "job.yaml")

    assert (ended.code, ended.output) == (2, "")
    assert ended.errors == (
        f"qtj: {logs} has no curves of toy: the trainer and qtj_trainer.Program store the first ones after an epoch, "
        "and another program has to write them (docs/reference/contract.md)\n"
    )  # so it has found the run


def test_a_file_with_several_jobs_is_refused(laptop: Laptop) -> None:
    laptop.write(toy_job(name="a"), toy_job(name="b"))

    ended = laptop.qtj("tensorboard", "job.yaml")

    assert (ended.code, ended.errors) == (2, "qtj: job.yaml has several jobs: name one of a, b instead of the file\n")


def test_a_port_in_use_is_one_sentence(laptop: Laptop, run: Folder) -> None:
    with_curves(run)
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        ended = laptop.qtj("tensorboard", "toy", "--port", str(port))

    assert ended.code == 2
    assert ended.errors == (
        f"qtj: port {port} of this machine cannot be used (Address already in use): "
        "choose another with --port, or any with --port 0\n"
    )


def test_a_run_that_is_not_here_is_one_sentence(laptop: Laptop) -> None:
    ended = laptop.qtj("tensorboard", "other")

    assert ended.code == 2
    assert ended.errors.startswith("qtj: the job other was not run in this folder")


@pytest.mark.parametrize("name", ["tensorboard", "xprof"])
def test_without_the_extra_it_says_how_to_install_it(laptop: Laptop, run: Folder, name: str) -> None:
    with_curves(run)
    script = (
        f"import sys; sys.modules[{name!r}] = None; sys.argv[1:] = ['tensorboard', 'toy']; from qtj import app; app()"
    )

    ended = subprocess.run(
        [sys.executable, "-c", script],
        cwd=laptop.folder,
        env=laptop.environment(),
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 2
    assert ended.stderr.startswith(f"qtj: qtj tensorboard needs the extra tensorboard, and there is no {name}: pip ")
    assert "[tensorboard]" in ended.stderr


def test_a_damaged_file_among_the_curves_does_no_harm(laptop: Laptop, run: Folder) -> None:
    with_curves(run)
    damaged = Path(run.path / "logs" / "uid-2" / "train" / "events.out.tfevents.1.damaged")
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"no event file" * 100)
    port = free_port()

    board = laptop.start("tensorboard", "toy", "--port", str(port))
    until_it_shows_curves(board, port)

    assert ended_by(board, signal.SIGINT).errors == ""
