"""However a program or its run ends, nothing that it has started is left: neither children nor daemons."""

import asyncio
import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pytest

from qtj.local.container import ProcessSpec
from qtj.local.launch import children_of
from qtj.local.process import Process, Supervisors
from tests.local.laptop import Laptop, Running, toy_job
from tools.background import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="other systems have no subreaper")

DAEMON = """
import os, signal, sys, time
if not os.fork():
    os.setsid()                      # a session of its own, and then no parent that it knows
    if os.fork():
        os._exit(0)
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for each in (0, 1, 2):
        os.close(each)
    open("daemon", "w").write(str(os.getpid()))
    time.sleep(600)
while not os.path.exists("daemon") or not open("daemon").read():
    time.sleep(0.01)
"""
SERVES = "time.sleep(600)"


def daemon_job(then: str, *, then_signal: str = "SIG_DFL") -> dict[str, object]:
    """A job whose program starts a daemon and then does something."""
    job = toy_job(workers=1, runPolicy={"backoffLimit": 0}, inference=None)
    program = (
        f"{DAEMON}\nsignal.signal(signal.SIGTERM, signal.{then_signal})\nopen('program', 'w').write(str(os.getpid()))"
    )
    main = {"name": "trainer", "image": "toy:1", "command": ["python", "-c", f"{program}\n{then}"]}
    job["spec"]["template"]["spec"]["containers"] = [main]
    return job


def begin(laptop: Laptop, then: str = SERVES, *, then_signal: str = "SIG_DFL") -> Running:
    laptop.write(daemon_job(then, then_signal=then_signal))
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: number(laptop, "program") and number(laptop, "daemon"))
    return running


def number(laptop: Laptop, name: str) -> int | None:
    """Returns the process id that a process has written."""
    path = laptop.folder / name
    return int(path.read_text() or 0) if path.exists() else None


def supervisor_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def nothing_is_left(laptop: Laptop) -> None:
    wait_until(lambda: not laptop.processes(), seconds=20)
    assert not list(laptop.folder.glob("qtj-[!ap]*")), "a folder of termination messages"


@pytest.mark.parametrize(("then", "code"), [("sys.exit(0)", 0), ("sys.exit(3)", 1)])
def test_a_daemon_goes_with_the_program_that_has_ended(laptop: Laptop, then: str, code: int) -> None:
    running = begin(laptop, then)

    assert running.end().code == code
    assert laptop.processes() == {}


def test_a_daemon_goes_with_the_program_that_was_killed(laptop: Laptop) -> None:
    running = begin(laptop)
    program = number(laptop, "program")
    assert program

    os.kill(program, signal.SIGKILL)

    assert running.end().code == 1
    assert laptop.processes() == {}
    assert laptop.record()["status"]["failures"][0]["exitCode"] == 137


@pytest.mark.parametrize("ending", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP])
def test_a_daemon_goes_with_the_run_that_is_told_to_end(laptop: Laptop, ending: signal.Signals) -> None:
    running = begin(laptop)

    running.process.send_signal(ending)

    assert running.end().code == 130
    assert laptop.processes() == {}


def test_a_daemon_goes_when_the_second_interrupt_kills(laptop: Laptop) -> None:
    running = begin(laptop, then_signal="SIG_IGN")

    running.interrupt()
    wait_until(lambda: laptop.record()["spec"].get("suspend"))
    running.interrupt()

    assert running.end(seconds=20).code == 130
    assert laptop.processes() == {}


def test_a_daemon_goes_with_a_run_that_was_killed(laptop: Laptop) -> None:
    running = begin(laptop, then_signal="SIG_IGN")

    running.kill()
    running.end()

    nothing_is_left(laptop)


def test_a_daemon_goes_when_its_supervisor_was_killed(laptop: Laptop) -> None:
    running = begin(laptop)
    program = number(laptop, "program")
    assert program

    os.kill(supervisor_of(program), signal.SIGKILL)

    assert running.end().code == 1
    assert laptop.processes() == {}


def test_no_program_outlives_a_run_that_is_killed_together_with_all_supervisors(laptop: Laptop) -> None:
    job = toy_job(workers=3)
    silent = {"name": "trainer", "image": "toy:1", "command": ["sleep", "600"]}  # not even a broken pipe ends it
    job["spec"]["template"]["spec"]["containers"] = [silent]
    laptop.write(job)
    running = laptop.start("run", "job.yaml")
    supervisors = {supervisor_of(laptop.worker(index)) for index in (2, 1, 0)}  # the last one is there when all are
    os.kill(running.process.pid, signal.SIGSTOP)

    for each in (*supervisors, running.process.pid):
        os.kill(each, signal.SIGKILL)
    running.end()

    assert len(supervisors) == 3
    wait_until(lambda: not laptop.processes(), seconds=20)
    assert laptop.processes() == {}


def test_what_a_supervisor_is_told_by_sigterm_its_program_hears(laptop: Laptop) -> None:
    running = begin(
        laptop, "signal.signal(signal.SIGTERM, lambda *_: sys.exit(7))\nopen('ready', 'w').close()\n" + SERVES
    )
    program = number(laptop, "program")
    assert program
    wait_until((laptop.folder / "ready").exists)

    os.kill(supervisor_of(program), signal.SIGTERM)

    assert running.end().code == 1
    assert laptop.record()["status"]["failures"][0]["exitCode"] == 7


def test_what_the_shell_had_in_the_background_stays(laptop: Laptop) -> None:
    laptop.write(daemon_job("os.kill(os.getppid(), signal.SIGKILL)\n" + SERVES))
    qtj = f'{sys.executable} -c "from qtj import app; app()" run job.yaml'

    before = subprocess.Popen(
        ["sh", "-c", f"sleep 600 & echo $! > background; exec {qtj}"],
        cwd=laptop.folder,
        env=laptop.environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    before.wait(timeout=100)

    background = number(laptop, "background")
    assert set(laptop.processes()) == {background}


BACKGROUND = "while [ ! -e daemon ]; do sleep 0.02; done; sleep 600 & echo $! > foreign"
"""A job in the background of the shell that becomes `qtj run`. It ends, and its child loses its parent."""
UNMARKED = """
import subprocess
for name, words in (("unmarked", []), ("unmarked_daemon", ["setsid"])):
    left = subprocess.Popen([*words, "env", "-i", "/bin/sleep", "600"])
    open(name, "w").write(str(left.pid))
"""
"""Two children without any environment: one in the session of the program, and one in a session of its own."""
LOSES_ITS_SUPERVISOR = "os.kill(os.getppid(), signal.SIGKILL)\n" + SERVES


def is_alive(pid: int | None) -> bool:
    command = Path(f"/proc/{pid}/cmdline")
    return command.exists() and command.read_bytes() != b""  # that of a zombie is empty


def run_from_a_shell(laptop: Laptop, background: str, then: str) -> None:
    """Runs a job whose program loses its supervisor, in the process of a shell that has a job in the background."""
    laptop.write(daemon_job(f"{UNMARKED}\n{then}\n{LOSES_ITS_SUPERVISOR}"))
    qtj = f'{sys.executable} -c "from qtj import app; app()" run job.yaml'
    shell = ["sh", "-c", f"{background}\nexec {qtj}"]
    nowhere = subprocess.DEVNULL
    subprocess.run(
        shell, cwd=laptop.folder, env=laptop.environment(), stdout=nowhere, stderr=nowhere, timeout=100, check=False
    )


def test_an_orphan_of_the_shell_stays_when_a_supervisor_was_killed(laptop: Laptop) -> None:
    is_there = "while not os.path.exists('foreign') or not open('foreign').read(): time.sleep(0.01)"
    try:
        run_from_a_shell(laptop, f"({BACKGROUND}) &", is_there)

        left = {name for name in ("foreign", "daemon", "program", "unmarked") if is_alive(number(laptop, name))}
        assert left == {"foreign"}
    finally:
        if unmarked := number(laptop, "unmarked_daemon"):  # nothing says whose it is
            with suppress(ProcessLookupError):
                os.kill(unmarked, signal.SIGKILL)


def test_where_the_shell_had_nothing_in_the_background_nothing_is_left(laptop: Laptop) -> None:
    run_from_a_shell(laptop, "", "")

    names = ("daemon", "program", "unmarked", "unmarked_daemon")
    assert {name for name in names if is_alive(number(laptop, name))} == set()
    assert all(number(laptop, name) for name in names)


def test_what_a_probe_leaves_running_ends_with_it(laptop: Laptop) -> None:
    job = toy_job(epochs=30, workers=1, inference=None)
    probe = ["sh", "-c", "setsid sleep 600 > /dev/null 2>&1 & echo x >> probed"]
    job["spec"]["template"]["spec"]["containers"][0]["readinessProbe"] = {
        "exec": {"command": probe},
        "periodSeconds": 1,
    }
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert (laptop.folder / "probed").exists()
    assert laptop.processes() == {}


def test_a_pipeline_in_a_shell_ends_silently_when_its_reader_does(laptop: Laptop) -> None:
    job = toy_job(workers=1, inference=None)
    pipeline = ["sh", "-c", "yes | head -n 1; echo done"]
    job["spec"]["template"]["spec"]["containers"] = [{"name": "trainer", "image": "toy:1", "command": pipeline}]
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert laptop.qtj("logs", "toy", "worker-0").output == "y\ndone\n"


@pytest.mark.parametrize("after", [0, 0.02, 0.04, 0.08, 0.16, 0.5])
async def test_a_start_that_is_given_up_leaves_nothing(tmp_path: Path, after: float) -> None:
    supervisors, before = Supervisors(), set(children_of(os.getpid()))
    program = ProcessSpec(command=("/bin/sleep", "600"), environment={}, folder=tmp_path)
    starting = asyncio.create_task(Process.start(program, lambda _: None, supervisors))
    await asyncio.sleep(after)

    if starting.cancel():
        with pytest.raises(asyncio.CancelledError):
            await starting
    else:  # it was quick
        starting.result().kill()
        await starting.result().wait()

    assert set(children_of(os.getpid())) == before
