"""A component of the cluster: its command line, the files it reads, and the question whether it is ready.

Components are described, not scripted: `ensure` makes the machine match the description and does nothing if it does.
A component that died, or whose command line or files changed, is started again; one that is fine is left alone.
"""

import http.client
import json
import os
import signal
import socket
import ssl
import subprocess
import urllib.request
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from .paths import LOGS, PIDS, write
from .shell import ClusterError, say, tail, wait_for

READY_SECONDS = 60.0
PROBE_SECONDS = 3.0
# A clean environment: a proxy variable of the host would send traffic for pods to that proxy.
ENVIRONMENT = {"PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "HOME": "/root"}


@dataclass(frozen=True)
class Component:
    """One long-running program.

    Attributes:
        name: what it is called in messages, in its log's and in its pid file's name.
        argv: the command line.
        ready: whether it does its work.
        files: what it reads at its start; a change starts it again.
        grace: seconds it gets to end on SIGTERM.
    """

    name: str
    argv: tuple[str, ...]
    ready: Callable[[], bool]
    files: Mapping[Path, str] = field(default_factory=dict)
    grace: float = 10.0

    @property
    def log(self) -> Path:
        return LOGS / f"{self.name}.log"


@dataclass(frozen=True)
class Record:
    """The content of a pid file. The start time distinguishes our process from a later one with the same pid."""

    pid: int
    started: str
    argv: list[str]

    @property
    def alive(self) -> bool:
        return self.started == start_time(self.pid)


def ensure(component: Component) -> None:
    """Makes a component run as described, and waits until it is ready."""
    record = read_record(component.name)
    if record and record.alive and record.argv == list(component.argv) and not _files_changed(component):
        if wait_for(component.ready, PROBE_SECONDS):
            return
        say(f"{component.name} runs but does not answer: starting it again")
    stop(component.name, component.grace)
    start(component)


def start(component: Component) -> None:
    """Starts a component in a session of its own, so that it outlives the terminal and dies as a group.

    Raises:
        ClusterError: it ended, or was not ready in time; with the end of its log.
    """
    for path, text in component.files.items():
        write(path, text)
    LOGS.mkdir(parents=True, exist_ok=True)
    with component.log.open("ab") as log:
        child = subprocess.Popen(
            component.argv, stdin=subprocess.DEVNULL, stdout=log, stderr=log, env=ENVIRONMENT, start_new_session=True
        )
    record = Record(child.pid, start_time(child.pid) or "", list(component.argv))
    write(_pid_file(component.name), json.dumps(vars(record)))
    wait_for(lambda: child.poll() is not None or component.ready(), READY_SECONDS)
    if child.poll() is not None or not component.ready():
        how = "did not become ready" if child.poll() is None else f"ended with {child.returncode}"
        raise ClusterError(f"{component.name} {how}; the end of {component.log}:\n{tail(component.log.read_text())}")
    say(f"{component.name} is ready")
    child.returncode = 0  # it is meant to stay: without this, Popen's destructor warns about a child still running


def stop(name: str, grace: float = 10.0) -> None:
    """Stops a component if it runs; gone when this returns."""
    record = read_record(name)
    if record and record.alive:
        end([record.pid], grace)
        _signal_group(record.pid, signal.SIGKILL)
    _pid_file(name).unlink(missing_ok=True)


def end(pids: list[int], grace: float) -> None:
    """Asks processes to end, then makes them."""
    for ask, patience in ((signal.SIGTERM, grace), (signal.SIGKILL, 10.0)):
        for pid in pids:
            _signal(pid, ask)
        if wait_for(lambda: not any(map(start_time, pids)), patience, pause=0.05):
            return
    raise ClusterError(f"processes {[pid for pid in pids if start_time(pid)]} survive SIGKILL: look at them with ps")


def running() -> dict[str, Record]:
    """The components that have a pid file, oldest first, alive or not."""
    files = sorted(PIDS.glob("*.json"), key=lambda path: path.stat().st_mtime_ns)
    return {path.stem: record for path in files if (record := read_record(path.stem))}


def read_record(name: str) -> Record | None:
    """What the pid file says; None if there is none, or half of one."""
    try:
        return Record(**json.loads(_pid_file(name).read_text()))
    except (FileNotFoundError, json.JSONDecodeError, TypeError):
        return None


def start_time(pid: int) -> str | None:
    """When a process began, in the kernel's ticks; None if it is gone or only waits to be collected."""
    try:
        with_name, _, rest = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
    except (FileNotFoundError, ProcessLookupError):
        return None
    state, *fields = rest.split()
    return None if state in "ZX" or not with_name else fields[18]


def command_lines() -> dict[int, list[str]]:
    """Every process and its command line."""
    found: dict[int, list[str]] = {}
    for folder in Path("/proc").iterdir():
        if folder.name.isdigit():
            try:
                words = (folder / "cmdline").read_bytes().decode(errors="replace").split("\0")
            except OSError:
                continue  # it ended while we looked
            found[int(folder.name)] = words[:-1]
    return found


def answers(url: str, ca: Path | None = None) -> Callable[[], bool]:
    """A probe: GET says 200. Without a CA the certificate is not checked: those components sign their own."""

    def probe() -> bool:
        trust = ssl.create_default_context(cafile=str(ca)) if ca else ssl._create_unverified_context()
        direct = urllib.request.build_opener(
            urllib.request.ProxyHandler({}), urllib.request.HTTPSHandler(context=trust)
        )
        try:
            with direct.open(url, timeout=PROBE_SECONDS) as answer:
                return bool(answer.status == http.client.OK)
        except (OSError, http.client.HTTPException):
            return False

    return probe


def listens(path: Path) -> Callable[[], bool]:
    """A probe: a Unix socket accepts connections."""

    def probe() -> bool:
        with socket.socket(socket.AF_UNIX) as client:
            try:
                client.connect(str(path))
            except OSError:
                return False
        return True

    return probe


def _files_changed(component: Component) -> bool:
    return any(not path.exists() or path.read_text() != text for path, text in component.files.items())


def _pid_file(name: str) -> Path:
    return PIDS / f"{name}.json"


def _signal(pid: int, number: int) -> None:
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        return


def _signal_group(leader: int, number: int) -> None:
    """What a component started dies with it."""
    try:
        os.killpg(leader, number)
    except ProcessLookupError:
        return
