"""What `qtj attach` leaves on a terminal when it gets SIGTERM."""

import signal
from contextlib import ExitStack

from tests.local.laptop import ENDLESS, Laptop, toy_job
from tests.local.terminal import Terminal, start_on
from tools.background import wait_until

HIDDEN, SHOWN = b"\x1b[?25l", b"\x1b[?25h"


def test_a_sigterm_gives_the_cursor_back_and_leaves_the_run_alone(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS, workers=1))
    running = laptop.training()
    terminal = Terminal()

    with ExitStack() as stack:
        stack.callback(terminal.end)
        attached = start_on(terminal, laptop, "attach", "toy")
        stack.callback(attached.kill)  # the terminal ends with the last program in it
        wait_until(lambda: b"epoch" in terminal.written, seconds=20)
        attached.terminate()
        code = attached.wait(30)

    assert code in {-signal.SIGTERM, 128 + signal.SIGTERM}
    assert HIDDEN in terminal.written
    assert terminal.written.rindex(SHOWN) > terminal.written.rindex(HIDDEN)
    assert b"Traceback" not in terminal.written
    assert running.process.poll() is None
    running.kill()
    running.end()
