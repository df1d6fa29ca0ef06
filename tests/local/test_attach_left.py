"""`qtj attach`, left with Ctrl-C: at any moment, also in the middle of a line."""

import io
import signal
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qtj.local.folder import Folder
from qtj.runs.attach import attach_to
from qtj.runs.folders import RecordedRun
from qtj.terminal.signals import ctrl_c_at_waits
from tests.local.test_follow import EVENT, job, under_way


class Pressed(io.StringIO):
    """An output during whose first line Ctrl-C is pressed."""

    def write(self, text: str, /) -> int:
        is_first = not self.getvalue()
        written = super().write(text)
        if is_first:
            signal.raise_signal(signal.SIGINT)
        return written


@pytest.fixture
def sigint() -> Iterator[Any]:
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_within_a_line_ends_the_command_after_the_line(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, output = Folder(tmp_path), Pressed()
    monkeypatch.setattr(sys, "stdout", output)
    with under_way(folder):
        folder.save(job("Running"))
        folder.record_event(EVENT)

        code = attach_to(RecordedRun("own/1", folder, job("Running")), lambda *_: "")

    shown = [line.split("  ", 3)[-1] for line in output.getvalue().splitlines()]
    assert code == 130
    assert shown == ["own  running", "own  Restarting: worker-1 is gone", "own/1 continues: `qtj stop own/1` stops it"]


@pytest.mark.usefixtures("sigint")
def test_a_second_ctrl_c_is_not_held_back() -> None:
    with ctrl_c_at_waits():
        signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            signal.raise_signal(signal.SIGINT)


@pytest.mark.usefixtures("sigint")
def test_an_ignored_ctrl_c_stays_ignored() -> None:
    """As a shell starts a command with `&`."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    with ctrl_c_at_waits() as wait:
        signal.raise_signal(signal.SIGINT)
        wait(0)

    assert signal.getsignal(signal.SIGINT) is signal.SIG_IGN


@pytest.mark.usefixtures("sigint")
def test_ctrl_c_is_as_before_once_the_waits_are_over() -> None:
    with ctrl_c_at_waits() as wait:
        wait(0)

    with pytest.raises(KeyboardInterrupt):
        signal.raise_signal(signal.SIGINT)
