"""kubectl, as a user runs it: the end-to-end tests get every fact through it."""

import json
import os
import subprocess
import sys
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

KUBECTL = os.environ.get("KUBECTL", "kubectl")
_WATCH_PAUSE = 0.2
"""Seconds before a watch is started, again and again while there is no API server."""


class KubectlError(Exception):
    """kubectl ended with an error; the message is what it wrote to stderr."""


def kubectl(*args: str, stdin: str | None = None, timeout: float = 120) -> str:
    """Runs kubectl and returns what it wrote to stdout."""
    done = _run(args, None if stdin is None else stdin.encode(), timeout)
    return done.decode()


def refusal(*args: str, stdin: str) -> str:
    """Runs kubectl, which is to fail, and returns what it says; nothing if it does not fail."""
    try:
        kubectl(*args, stdin=stdin)
    except KubectlError as error:
        return str(error)
    return ""


def qtj(*words: str, cwd: str | Path | None = None, timeout: float = 900) -> subprocess.CompletedProcess[str]:
    """Runs a command of this checkout to its end, whatever that is."""
    command = [sys.executable, "-m", "qtj", *words]
    return subprocess.run(command, cwd=cwd, capture_output=True, text=True, timeout=timeout, check=False)


def kubectl_bytes(*args: str) -> bytes:
    """Runs kubectl and returns the bytes that it wrote to stdout."""
    return _run(args, None, 120)


def get(*args: str) -> Any:
    """Runs `kubectl get ... -o json`."""
    return json.loads(kubectl("get", *args, "-o", "json"))


def events(namespace: str, name: str) -> list[dict[str, Any]]:
    """Returns the events of a job, not those of earlier ones of its name."""
    uid = get("-n", namespace, "qtj", name)["metadata"]["uid"]
    found: list[dict[str, Any]] = get("-n", namespace, "events", f"--field-selector=involvedObject.uid={uid}")["items"]
    return found


def exists(*args: str) -> bool:
    """Tells whether `kubectl get` finds anything."""
    return bool(kubectl("get", *args, "--ignore-not-found", "-o", "name").strip())


def wait_until(what: str, holds: Callable[[], object], seconds: float, pause: float = 0.5) -> float:
    """Waits until `holds()`, at most `seconds`; kubectl may fail meanwhile, as it does without an API server.

    Returns:
        The seconds that it took.

    Raises:
        KubectlError: The time is over.
    """
    begin = time.monotonic()
    while True:
        try:
            if holds():
                return time.monotonic() - begin
            trouble = ""
        except (KubectlError, subprocess.TimeoutExpired) as error:
            trouble = f": {error}"
        if time.monotonic() - begin > seconds:
            raise KubectlError(f"waited {seconds:.0f} s in vain until {what}{trouble}")
        time.sleep(pause)


@dataclass(frozen=True)
class Sight:
    """One state of one object.

    Attributes:
        at: When kubectl printed it, by `time.monotonic`.
        event: ADDED, MODIFIED or DELETED.
        state: The object.
    """

    at: float
    event: str
    state: dict[str, Any]

    @property
    def name(self) -> str:
        """The object's name."""
        return str(self.state["metadata"]["name"])

    @property
    def status(self) -> dict[str, Any]:
        """The object's status; empty before it has one."""
        status: dict[str, Any] = self.state.get("status", {})
        return status


class Watch:
    """Every state of some objects, as `kubectl get --watch` reports it, from construction on.

    kubectl ends when the API server does. Then it is started again, and prints the current states first.
    """

    def __init__(self, *args: str) -> None:
        self._command = [KUBECTL, "get", *args, "--watch", "--output-watch-events", "-o", "json"]
        self._sights: list[Sight] = []
        self._known: set[tuple[str, str, str]] = set()
        self._stopped = threading.Event()
        self._process: subprocess.Popen[str] | None = None
        threading.Thread(target=self._read, daemon=True).start()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stopped.set()
        if self._process:
            self._process.terminate()
            self._process.wait()

    def of(self, name: str) -> list[Sight]:
        """What was seen of one object."""
        return [sight for sight in tuple(self._sights) if sight.name == name]

    def all(self) -> tuple[Sight, ...]:
        """What was seen."""
        return tuple(self._sights)

    def _read(self) -> None:
        while not self._stopped.wait(_WATCH_PAUSE):
            self._process = subprocess.Popen(
                self._command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
            for line in self._process.stdout or ():
                event = json.loads(line)
                self._note(event["type"], event["object"])
            self._process.wait()

    def _note(self, event: str, state: dict[str, Any]) -> None:
        meta = state.get("metadata", {})
        identity = (event.replace("MODIFIED", "ADDED"), meta.get("uid", ""), meta.get("resourceVersion", ""))
        if meta.get("uid") and identity not in self._known:
            self._known.add(identity)
            self._sights.append(Sight(time.monotonic(), event, state))


def _run(args: tuple[str, ...], stdin: bytes | None, timeout: float) -> bytes:
    done = subprocess.run([KUBECTL, *args], input=stdin, capture_output=True, timeout=timeout, check=False)
    if done.returncode:
        raise KubectlError(done.stderr.decode().strip() or f"kubectl {' '.join(args)} failed")
    return done.stdout


ROOT = Path(__file__).parents[2]
"""The repository."""
