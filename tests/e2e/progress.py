"""How far a training is, asked of the trainer itself: the status is polled, and would add seconds to what is measured.

One `kubectl proxy` carries all questions: a kubectl for each would take the processors from what is measured.
"""

import atexit
import json
import subprocess
import threading
import time
import urllib.request
from functools import cache
from typing import Any, Self

from tests.e2e.kubectl import KUBECTL

PORTS = {"grpc": 2222, "profiler": 2223, "metrics": 2224}
_PERIOD = 0.1
"""Seconds between two questions."""


def progress(namespace: str, pod: str) -> dict[str, Any] | None:
    """Returns what the pod's progress endpoint says; None when it does not answer."""
    url = f"{_proxy()}/api/v1/namespaces/{namespace}/pods/{pod}:{PORTS['metrics']}/proxy/progress"
    try:
        with urllib.request.urlopen(url, timeout=2) as answer:
            latest: dict[str, Any] = json.load(answer)
    except (OSError, ValueError):
        return None
    return latest


class Steps:
    """The steps of a pod, and since when it is silent, sampled while the context lasts."""

    def __init__(self, namespace: str, pod: str) -> None:
        self._where = (namespace, pod)
        self._samples: list[tuple[float, int | None]] = []
        self._over = threading.Event()

    def __enter__(self) -> Self:
        threading.Thread(target=self._sample, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._over.set()

    def first_beyond(self, step: int, since: float) -> float | None:
        """Returns when a step after this one was first seen."""
        return next((at for at, seen in tuple(self._samples) if at > since and seen is not None and seen > step), None)

    def lowest(self, since: float) -> int | None:
        """Returns the lowest step since then, namely the one that a new program began with."""
        return min((step for at, step in tuple(self._samples) if at > since and step is not None), default=None)

    def end(self) -> float | None:
        """Returns when the program went silent for good, as far as is known."""
        samples = tuple(self._samples)
        last = max((index for index, (_, step) in enumerate(samples) if step is not None), default=None)
        return samples[last + 1][0] if last is not None and last + 1 < len(samples) else None

    def _sample(self) -> None:
        while not self._over.wait(_PERIOD):
            latest = progress(*self._where)
            self._samples.append((time.monotonic(), None if latest is None else int(latest["step"])))


@cache
def _proxy() -> str:
    command, quiet = [KUBECTL, "proxy", "--port=0"], subprocess.DEVNULL  # it complains of pods that do not answer
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=quiet, text=True)
    atexit.register(process.terminate)
    line = process.stdout.readline() if process.stdout else ""
    return f"http://{line.split()[-1]}"
