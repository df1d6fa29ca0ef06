"""kubectl, as a user has it: every fact that the end-to-end tests assert comes through here."""

import json
import os
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

KUBECTL = os.environ.get("KUBECTL", "kubectl")


class KubectlError(Exception):
    """kubectl ended with an error; the message is what it wrote to stderr."""


def kubectl(*args: str, stdin: str | None = None, timeout: float = 120) -> str:
    """Runs kubectl and returns what it wrote to stdout."""
    done = _run(args, None if stdin is None else stdin.encode(), timeout)
    return done.decode()


def kubectl_bytes(*args: str) -> bytes:
    """Runs kubectl and returns the bytes that it wrote to stdout."""
    return _run(args, None, 120)


def get(*args: str) -> Any:
    """Runs `kubectl get ... -o json`."""
    return json.loads(kubectl("get", *args, "-o", "json"))


def exists(*args: str) -> bool:
    """Tells whether `kubectl get` finds anything."""
    return bool(kubectl("get", *args, "--ignore-not-found", "-o", "name").strip())


def wait_until(what: str, holds: Callable[[], bool], seconds: float) -> float:
    """Waits until `holds()`, at most `seconds`.

    Returns:
        The seconds that it took.

    Raises:
        KubectlError: The time is over.
    """
    begin = time.monotonic()
    while not holds():
        if time.monotonic() - begin > seconds:
            raise KubectlError(f"waited {seconds:.0f} s in vain until {what}")
        time.sleep(0.5)
    return time.monotonic() - begin


class Watch:
    """Every state of one object, as `kubectl get --watch` reports it, from construction on."""

    def __init__(self, *args: str) -> None:
        command = [KUBECTL, "get", *args, "--watch", "-o", "json"]
        self._process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True)
        self.states: list[dict[str, Any]] = []
        threading.Thread(target=self._read, daemon=True).start()

    def stop(self) -> None:
        """Stops watching."""
        self._process.terminate()
        self._process.wait()

    def _read(self) -> None:
        for state in _documents(self._process.stdout or ()):
            self.states.append(state)


def _documents(lines: Any) -> Iterator[dict[str, Any]]:
    """Splits a stream of pretty-printed JSON objects: each ends with a brace in the first column."""
    text: list[str] = []
    for line in lines:
        text.append(line)
        if line.startswith("}"):
            yield json.loads("".join(text))
            text.clear()


def _run(args: tuple[str, ...], stdin: bytes | None, timeout: float) -> bytes:
    done = subprocess.run([KUBECTL, *args], input=stdin, capture_output=True, timeout=timeout, check=False)
    if done.returncode:
        raise KubectlError(done.stderr.decode().strip() or f"kubectl {' '.join(args)} failed")
    return done.stdout


ROOT = Path(__file__).parents[2]
"""The repository."""
