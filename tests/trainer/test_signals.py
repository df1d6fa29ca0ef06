"""SIGTERM, in a process that needs no TensorFlow: when it ends, and what it may finish before."""

import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from tests.trainer.processes import REPOSITORY
from tools.background import wait_until

BEGIN = """
import signal, sys, time
from pathlib import Path
from qtj_trainer.replica.signals import Stop, exit_now

stop = Stop()
stop.listen()

def ready():
    Path("ready").touch()

def until_requested():
    ready()
    while not stop.is_requested():
        stop.wait(0.1)
"""
STOPPED = 128 + signal.SIGTERM
NEVER = "ready(); time.sleep(600)"


def ended(folder: Path, program: str, *, stopped: bool = True) -> subprocess.CompletedProcess[str]:
    """Runs a program, sends SIGTERM once it is ready, and returns how it ended."""
    command = [sys.executable, "-c", BEGIN + program]
    paths = {"PYTHONPATH": f"{REPOSITORY / 'operator'}:{REPOSITORY / 'trainer'}"}
    process = subprocess.Popen(
        command, cwd=folder, env=paths, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    try:
        if stopped:
            wait_until(lambda: (folder / "ready").exists() or process.poll() is not None)
            process.send_signal(signal.SIGTERM)
        output, errors = process.communicate(timeout=300)
    finally:
        process.kill()
        process.wait()
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def test_before_training_a_process_ends_at_once(tmp_path: Path) -> None:
    assert ended(tmp_path, NEVER).returncode == STOPPED


def test_a_step_is_brought_to_its_end(tmp_path: Path) -> None:
    done = ended(tmp_path, "stop.expect(60)\nuntil_requested()\nprint('stored', flush=True)\nexit_now(7)")

    assert (done.returncode, done.stdout) == (7, "stored\n")


def test_a_step_that_does_not_end_is_waited_for_as_long_as_some_steps_took(tmp_path: Path) -> None:
    began = time.monotonic()

    assert ended(tmp_path, f"stop.expect(0.1)\n{NEVER}").returncode == STOPPED
    assert time.monotonic() - began > 2.3


def test_a_checkpoint_is_finished_even_if_it_takes_long(tmp_path: Path) -> None:
    program = (
        "with stop.deferred():\n    until_requested()\n    time.sleep(1)\n    print('stored', flush=True)\n"
        "time.sleep(600)"
    )

    done = ended(tmp_path, program)

    assert (done.returncode, done.stdout) == (STOPPED, "stored\n")


def test_after_a_checkpoint_the_patience_is_what_it_was(tmp_path: Path) -> None:
    program = """
stop.expect(1)
before = stop.patience
try:
    with stop.deferred():
        print(stop.patience)
        raise OSError
except OSError:
    print(stop.patience == before == 5)
"""
    assert ended(tmp_path, program, stopped=False).stdout.split() == ["inf", "True"]


@pytest.mark.parametrize("handler", ["signal.SIG_IGN", "lambda *_: None"])
def test_a_handler_of_somebody_else_changes_nothing(tmp_path: Path, handler: str) -> None:
    assert ended(tmp_path, f"signal.signal(signal.SIGTERM, {handler})\n{NEVER}").returncode == STOPPED


def test_a_thread_that_is_started_later_does_not_take_the_signal(tmp_path: Path) -> None:
    program = f"import threading\nthreading.Thread(target=time.sleep, args=(600,), daemon=True).start()\n{NEVER}"

    assert ended(tmp_path, program).returncode == STOPPED


def test_a_process_deletes_the_sources_of_autograph_when_it_ends(tmp_path: Path) -> None:
    (tmp_path / "__autograph_generated_file1.py").touch()
    (tmp_path / "__autograph_generated_file2.py").touch()
    program = "sys.path.insert(0, '.')\nimport __autograph_generated_file1\nexit_now(3)"

    done = ended(tmp_path, program, stopped=False)

    assert done.returncode == 3, done.stderr
    assert [path.name for path in tmp_path.glob("*.py")] == ["__autograph_generated_file2.py"]


def test_a_process_ends_without_its_threads_and_exit_handlers(tmp_path: Path) -> None:
    program = "import atexit, threading\natexit.register(print, 'late')\n"
    program += "threading.Thread(target=time.sleep, args=(600,)).start()\nexit_now(4)"

    done = ended(tmp_path, program, stopped=False)

    assert (done.returncode, done.stdout) == (4, "")
