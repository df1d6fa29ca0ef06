"""Runs without their terminal: it is closed, or the run never needed it."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Sequence

import pytest

from tests.local.laptop import ENDLESS, QTJ, Laptop, toy_job
from tools.background import wait_until


class Terminal:
    """A terminal with a shell's child in it."""

    def __init__(self, laptop: Laptop, command: Sequence[str], *, hangs_up: bool) -> None:
        """Starts a command.

        Args:
            laptop: Where.
            command: What.
            hangs_up: Whether the command gets SIGHUP when the terminal goes; else it only finds it gone.
        """
        self._master, slave = pty.openpty()
        self.process = subprocess.Popen(
            [*QTJ, *command] if not hangs_up else ["setsid", "--ctty", "--wait", *QTJ, *command],
            cwd=laptop.folder,
            env=laptop.environment(),
            stdin=slave,
            stdout=slave,
            stderr=slave,
            start_new_session=True,
        )
        os.close(slave)

    def close(self) -> None:
        os.close(self._master)


@pytest.mark.parametrize("hangs_up", [True, False], ids=["with SIGHUP", "without SIGHUP"])
def test_a_closed_terminal_suspends_the_job_with_its_checkpoint(laptop: Laptop, hangs_up: bool) -> None:
    laptop.write(toy_job(ENDLESS))
    terminal = Terminal(laptop, ["run", "job.yaml"], hangs_up=hangs_up)
    wait_until(laptop.trains)

    terminal.close()

    wait_until(lambda: not laptop.processes(), seconds=20)
    terminal.process.wait()
    assert laptop.record()["status"]["phase"] == "Suspended"
    assert laptop.epoch() >= 1


def test_a_run_that_is_to_ignore_hangups_goes_on_without_its_terminal(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=30))
    before = signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as `nohup` or `trap "" HUP`
    try:
        terminal = Terminal(laptop, ["run", "job.yaml"], hangs_up=False)
    finally:
        signal.signal(signal.SIGHUP, before)
    wait_until(laptop.trains)

    terminal.close()

    assert terminal.process.wait(timeout=100) == 0
    assert laptop.record()["status"]["phase"] == "Complete"


def test_a_detached_run_outlives_the_command_that_began_it(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=20))

    begun = laptop.qtj("run", "-d", "job.yaml")
    attached = laptop.qtj("attach")

    assert begun.code == 0, begun.errors
    assert (
        begun.output == "toy/1 continues in the background: `qtj attach toy/1` follows it, `qtj stop toy/1` stops it\n"
    )
    assert attached.code == 0, attached.errors
    assert "epoch 20/20  loss 0.0500" in attached.output
    assert "toy is Complete: inference is done: mse 0.5" in attached.output
    assert attached.output.splitlines()[-1] == f"report: {laptop.folder / 'qtj-artifacts/toy/1/report.html'}"
    assert (laptop.folder / "qtj-artifacts/toy/1/report.html").read_text().endswith("</html>\n")
    wait_until(lambda: not laptop.processes(), seconds=20)


def test_what_is_wrong_with_a_job_is_told_before_it_is_detached(laptop: Laptop) -> None:
    laptop.write(toy_job(strategy="Nonsense"))

    ended = laptop.qtj("run", "-d", "job.yaml")

    assert ended.code == 2
    assert "spec.strategy" in ended.errors
    assert not (laptop.folder / "qtj-artifacts").exists()


def test_who_is_attached_leaves_without_ending_the_run(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    laptop.qtj("run", "-d", "job.yaml")
    wait_until(laptop.trains)
    attached = laptop.start("attach", "toy")
    assert attached.process.stdout
    first = attached.process.stdout.readline()

    attached.interrupt()
    left = attached.end()
    listed = laptop.qtj("list")

    assert "toy  " in first
    assert (left.code, left.output.splitlines()[-1]) == (130, "toy/1 continues: `qtj stop toy/1` stops it")
    assert "toy/1   Running" in listed.output
    assert laptop.qtj("stop").code == 0


@pytest.mark.parametrize("flags", [["--deaf"], []], ids=["deaf", "listening"])
def test_a_run_is_stopped_from_elsewhere_and_goes_on_later(laptop: Laptop, flags: list[str]) -> None:
    laptop.write(toy_job(ENDLESS, *flags))
    laptop.qtj("run", "-d", "job.yaml")
    wait_until(laptop.trains)

    stopped = laptop.qtj("stop", "toy", *(["--now"] if flags else []))
    again = laptop.qtj("stop", "toy")
    status = json.loads(laptop.qtj("status", "toy", "-o", "json").output)["status"]

    assert (stopped.code, stopped.output) == (0, "toy/1 is Suspended: `qtj run` of its file continues it\n")
    assert status["phase"] == "Suspended"
    wait_until(lambda: not laptop.processes(), seconds=20)
    assert (again.code, again.errors) == (
        2,
        "qtj: toy/1 is not active, it is Interrupted: `qtj list` shows which are\n",
    )


def test_one_of_two_jobs_is_stopped_and_the_other_goes_on(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS, name="first"), toy_job(40, name="second"))
    laptop.qtj("run", "-d", "job.yaml")
    assert laptop.record("second")["metadata"]["name"] == "second", "recorded before the command returns"
    wait_until(lambda: laptop.trains("first"))

    stopped = laptop.qtj("stop", "first")
    attached = laptop.qtj("attach", "second")

    assert stopped.output == "first/1 is Suspended: `qtj run` of its file continues it\n"
    assert "second is Complete" in attached.output


def test_attach_tells_the_same_stages_as_the_run(laptop: Laptop) -> None:
    laptop.write(toy_job(3, "--hold", workers=1))
    running = laptop.training()
    attached = laptop.start("attach", "toy")
    assert attached.process.stdout
    assert any("  toy  training" in line for line in iter(attached.process.stdout.readline, ""))

    (laptop.folder / "released").touch()

    own = running.end().output
    assert "  toy  training" in own
    for output in (attached.end().output, own):
        assert "training " in output.partition("  took: ")[2]
