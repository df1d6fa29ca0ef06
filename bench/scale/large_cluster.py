"""An operator beside so many large jobs as no real API server of this machine could hold: one that only answers."""

import asyncio
import json
import os
import socket
import sys
import threading
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from aiohttp import web

from bench.scale.large_jobs import just_below, large, selecting, suspended
from bench.scale.process import cpu_seconds, peak_mib
from tools.api_server import KUBECONFIG, TOKEN
from tools.background import free_port, process_running, wait_until
from tools.cluster.paths import REPO
from tools.served import served

if TYPE_CHECKING:
    import subprocess

GROUP, PLURAL = "quantumtraining.dev", "quantumtrainingjobs"
ALL = ["create", "get", "list", "patch", "watch"]
UNFINISHED = b"GET / HTTP/1.1\r\n" + b"".join(b"x%d: %s\r\n" % (each, b"x" * 4000) for each in range(30))
"""As much as the operator's port accepts."""

_SECONDS = 900.0
_JOBS: Mapping[str, Callable[..., bytes]] = {"large": large, "just_below": just_below, "suspended": suspended}
_SERVICES = "services"
_NOW = "2026-01-01T00:00:00Z"


@dataclass
class Cost:
    """What jobs and strangers have cost an operator.

    Attributes:
        mib: The most memory that it has held.
        slowest: The longest health check, in seconds.
        reasons: The reasons of the jobs' status.
    """

    mib: float = 0.0
    slowest: float = 0.0
    reasons: list[str] = field(default_factory=list)


class Large:
    """An API server that has only jobs and Services.

    Args:
        job: Returns a job of this name and resourceVersion, as JSON.
        number: How many there are.
        services: How many Services there are.
    """

    def __init__(self, job: Callable[..., bytes], number: int, services: int) -> None:
        self._job = job
        self._services = [f"s{each}" for each in range(services)]
        self._names = [f"j{each}" for each in range(number)]
        self._versions = dict.fromkeys(self._names, 7)
        self._statuses: dict[str, Any] = {}

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if "watch" in request.query:
            answer = web.StreamResponse()
            await answer.prepare(request)
            await asyncio.sleep(_SECONDS)
            return answer
        name = request.path.removesuffix("/status").rpartition("/")[2]
        if request.method == "PUT":
            self._statuses[name] = (await request.json())["status"]
            self._versions[name] += 1
        if name == "reasons":
            return web.json_response([status["reason"] for status in self._statuses.values()])
        if name in self._versions:
            return web.Response(body=self._text(name), content_type="application/json")
        if name == PLURAL and "labelSelector" not in request.query:
            return _page(request, self._names, self._text)
        if name == _SERVICES:
            return _page(request, self._services, lambda name: selecting(name, uid=name, resourceVersion="7"))
        return web.json_response(await self._other(request))

    async def _other(self, request: web.Request) -> Any:
        if request.method == "POST":
            return {**await request.json(), "status": {}}
        kinds = {PLURAL: "QuantumTrainingJob"} if GROUP in request.path else {"namespaces": "Namespace"}
        return {
            "metadata": {"resourceVersion": "7"},
            "items": [],
            "versions": ["v1"],
            "groups": [
                {"name": GROUP, "versions": [{"version": "v1alpha1"}], "preferredVersion": {"version": "v1alpha1"}}
            ],
            "resources": [
                {"name": name, "singularName": "", "namespaced": True, "kind": kind, "verbs": ALL}
                for name, kind in kinds.items()
            ],
        }

    def _text(self, name: str) -> bytes:
        text = self._job(name, uid=name, resourceVersion=str(self._versions[name]), creationTimestamp=_NOW)
        return text[:-1] + b',"status":' + json.dumps(self._statuses.get(name, {})).encode() + b"}"


def _page(request: web.Request, names: list[str], text: Callable[[str], bytes]) -> web.Response:
    begin = int(request.query.get("continue", "0"))
    end = begin + int(request.query["limit"])
    meta = json.dumps({"continue": str(end) if end < len(names) else "", "resourceVersion": "7"}).encode()
    items = b",".join(map(text, names[begin:end]))
    return web.Response(body=b'{"items":[' + items + b'],"metadata":' + meta + b"}", content_type="application/json")


def measured(folder: Path, job: str, number: int, strangers: int = 0, services: int = 0) -> Cost:
    """Starts an operator beside so many jobs, waits until it has read the answers, and then lets strangers connect.

    Args:
        folder: Where it has its kubeconfig and its log.
        job: The name of a job of `large_jobs.py`.
        number: How many jobs there are.
        strangers: How many connections to the operator's port send headers that do not end.
        services: How many Services there are, as large as they are kept, with the label of a job.
    """
    port, own, cost = free_port(), free_port(), Cost()
    url, kubeconfig, log = f"http://127.0.0.1:{port}", folder / "kubeconfig", folder / "operator.log"
    kubeconfig.write_text(KUBECONFIG.format(url=url, token=TOKEN))
    answering = (sys.executable, "-m", __name__, str(port), job, str(number), str(services))
    command = (sys.executable, "-m", "qtj_operator", f"--port={own}")
    alone = {key: value for key, value in os.environ.items() if not key.startswith(("KUBE", "QTJ_"))}
    with ExitStack() as stack:
        stack.enter_context(process_running(answering, folder / "server.log", {**alone, "PYTHONPATH": str(REPO)}))
        wait_until(lambda: _got(f"{url}/reasons") is not None, 20, "the server")
        process = stack.enter_context(process_running(command, log, {**alone, "KUBECONFIG": str(kubeconfig)}))
        wait_until(lambda: _got(f"http://127.0.0.1:{own}/healthz") is not None, 60, "the operator")
        stack.enter_context(_checks(own, cost))
        wait_until(lambda: len(_reasons(url)) == number or _ended(process, log), _SECONDS, "a status of each job")
        wait_until(lambda: _is_calm(process.pid), _SECONDS, "the end of its work")
        for _ in range(strangers):
            one = stack.enter_context(socket.create_connection(("127.0.0.1", own), timeout=20))
            with suppress(OSError):  # a newer one has its place
                one.sendall(UNFINISHED)
        wait_until(lambda: _got(f"http://127.0.0.1:{own}/healthz") is not None, 20, "an answer beside the strangers")
        cost.mib = peak_mib(process.pid)
        cost.reasons = _reasons(url)
    return cost


def _reasons(url: str) -> list[str]:
    found: list[str] = json.loads(_got(f"{url}/reasons") or "[]")
    return found


def _is_calm(pid: int) -> bool:
    """Looks at a process for half a second, and tells whether it has hardly used a processor."""
    before = cpu_seconds(pid)
    time.sleep(0.5)
    return cpu_seconds(pid) - before < 0.1 * 0.5


def _ended(process: "subprocess.Popen[bytes]", log: Path) -> bool:
    assert process.poll() is None, f"the operator ended: {log.read_text()[-2000:]}"
    return False


@contextmanager
def _checks(port: int, cost: Cost) -> Iterator[None]:
    """Asks for the health all the time."""
    stopped = threading.Event()

    def check() -> None:
        while not stopped.wait(0.05):
            begin = time.monotonic()
            _got(f"http://127.0.0.1:{port}/healthz")
            cost.slowest = max(cost.slowest, time.monotonic() - begin)

    thread = threading.Thread(target=check)
    thread.start()
    try:
        yield
    finally:
        stopped.set()
        thread.join()


def _got(url: str) -> bytes | None:
    """Returns what answers; None where nothing does."""
    try:
        with urllib.request.urlopen(url, timeout=10) as answer:
            body: bytes = answer.read()
            return body
    except OSError:
        return None


async def _answer(port: int, job: str, number: int, services: int) -> None:
    async with served(Large(_JOBS[job], number, services).handle, port):
        await asyncio.sleep(2 * _SECONDS)


if __name__ == "__main__":
    asyncio.run(_answer(int(sys.argv[1]), sys.argv[2], *map(int, sys.argv[3:])))
