"""What the pages of TensorBoard ask its server for."""

import gzip
import json
from collections.abc import Sequence
from contextlib import suppress
from typing import Any
from urllib.request import Request, urlopen

__all__ = ["capture_profile", "last_step"]

_SECONDS = 120


def last_step(address: str) -> int:
    """Returns the last step of the loss of the training; 0 if it has not been read yet.

    Args:
        address: That of TensorBoard, with a slash at its end.
    """
    for run, tags in (_read(address, "plugin/scalars/tags") or {}).items():
        if run.endswith("/train") and "loss" in tags:
            points = _read(address, f"plugin/scalars/scalars?run={run}&tag=loss") or []
            return max((int(step) for _, step, _ in points), default=0)
    return 0


def capture_profile(address: str, replicas: Sequence[str], milliseconds: int = 1000) -> str:
    """Captures what TensorBoard's button captures; returns what went wrong, or an empty string.

    Args:
        address: That of TensorBoard, with a slash at its end.
        replicas: Host and port of each.
        milliseconds: How long.
    """
    of = f"service_addr={','.join(replicas)}&is_tpu_name=false&worker_list="
    answer = _read(address, f"plugin/profile/capture_profile?{of}&duration={milliseconds}&num_retry=3")
    return "no answer" if answer is None else str(answer.get("error", ""))


def _read(address: str, path: str) -> Any:
    """Returns an answer; None if there is none."""
    request = Request(f"{address}data/{path}", headers={"Accept-Encoding": "gzip"})
    with suppress(OSError, ValueError), urlopen(request, timeout=_SECONDS) as answer:
        text = answer.read()
        return json.loads(gzip.decompress(text) if text[:2] == b"\x1f\x8b" else text)
    return None
