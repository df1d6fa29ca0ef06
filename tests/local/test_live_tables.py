"""`qtj status -w` and `qtj top` on a real terminal."""

import re
import signal
from collections.abc import Iterator

import pytest

from tests.local.laptop import ENDLESS, Laptop, toy_job
from tests.local.terminal import Terminal, start_on
from tools.background import wait_until

COLOR = re.compile(rb"\x1b\[[0-9;]*3[0-9]m")


@pytest.fixture
def training(laptop: Laptop) -> Iterator[Laptop]:
    """A machine on which a job trains."""
    laptop.write(toy_job(ENDLESS))
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: laptop.trains(epoch=2))
    yield laptop
    running.stop()


def test_a_job_is_drawn_again_with_a_bar_and_its_replicas_until_ctrl_c(training: Laptop, terminal: Terminal) -> None:
    watching = start_on(terminal, training, "status", "-w")
    wait_until(lambda: len(set(re.findall(rb"epoch *(?:\x1b\[0m)? *(\d+)/", terminal.written))) > 1)

    watching.send_signal(signal.SIGINT)
    code = watching.wait(60)

    screen = terminal.screen()
    text = "\n".join(screen.lines)
    assert (code, screen.unknown) == (130, set())
    assert text.count("phase       Running") == 1, "drawn over, not below"
    assert "━" in text
    assert re.search(r"REPLICA +STATE +NODE +EXIT CODE +RESTARTS +OWN STEP\n *worker-0 +Running", text)
    assert max(map(len, screen.lines)) <= 80
    assert terminal.written.count(b"\x1b[?25l") == terminal.written.count(b"\x1b[?25h"), "the cursor is back"


def test_top_has_a_row_for_the_job_and_one_for_each_replica(training: Laptop, terminal: Terminal) -> None:
    terminal.resize(120)
    watching = start_on(terminal, training, "top")
    wait_until(lambda: b"worker-1" in terminal.written)

    watching.terminate()
    code = watching.wait(60)

    lines = [line.split() for line in terminal.screen().lines]
    assert code == 143
    assert lines[0][:5] == ["JOB", "PHASE", "REASON", "READY", "PROGRESS"]
    assert lines[1][:4] == ["toy/1", "Running", "-", "2/2"]
    assert [line[:2] for line in lines[3:6]] == [["REPLICA", "STATE"], ["worker-0", "Running"], ["worker-1", "Running"]]
    assert COLOR.search(terminal.written)


@pytest.mark.parametrize("command", [("status", "-w"), ("logs", "-f")], ids=" ".join)
def test_without_colours_nothing_is_coloured(training: Laptop, terminal: Terminal, command: tuple[str, ...]) -> None:
    watching = start_on(terminal, training, *command, NO_COLOR="1")
    wait_until(lambda: b"worker-0" in terminal.written)
    watching.send_signal(signal.SIGINT)
    watching.wait(60)

    assert not COLOR.search(terminal.written)


def test_a_terminal_that_cannot_be_drawn_on_gets_lines(training: Laptop, terminal: Terminal) -> None:
    watching = start_on(terminal, training, "status", "-w", TERM="dumb")
    wait_until(lambda: b"toy  running" in terminal.written)
    watching.send_signal(signal.SIGINT)
    watching.wait(60)

    assert b"\x1b" not in terminal.written


def test_each_replica_has_its_colour_before_the_lines_of_its_log(training: Laptop, terminal: Terminal) -> None:
    watching = start_on(terminal, training, "logs", "-f")
    wait_until(lambda: terminal.written.count(b"epoch") > 1)
    watching.send_signal(signal.SIGINT)
    watching.wait(60)

    assert b"\x1b[36mtoy-worker-0.1  \x1b[0mbegins after epoch 0\r\n" in terminal.written
