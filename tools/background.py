"""Programs in the background of a test or a benchmark, on free ports of this machine, and waiting for what they do."""

import json
import socket
import subprocess
import time
from collections import deque
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from qtj.local.addresses import PortLease


@contextmanager
def process_running(
    argv: Sequence[str], log: Path, environment: Mapping[str, str] | None = None
) -> Iterator["subprocess.Popen[bytes]"]:
    """Runs a program until the context ends; Ctrl-C at a terminal does not reach it, so that it can be of use last."""
    with (
        log.open("w") as output,
        subprocess.Popen(argv, env=environment, stdout=output, stderr=output, start_new_session=True) as process,
    ):
        try:
            yield process
        finally:
            process.terminate()
            try:
                process.wait(timeout=10)
            except subprocess.TimeoutExpired:
                process.kill()


def wait_until(holds: Callable[[], object], seconds: float = 500.0, what: str = "what the line above asks for") -> None:
    """Waits until `holds()` is true.

    Args:
        holds: Tells whether it is.
        seconds: At most so long. Other work on the machine may slow it down much; a test that hangs is ended later.
        what: What is waited for, for the message.

    Raises:
        AssertionError: It was not in time.
    """
    deadline = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < deadline, f"waited {seconds:g} s for {what}"
        time.sleep(0.05)


def free_port() -> int:
    """Returns a port that nobody listens to."""
    [port] = free_ports(1)
    return port


_LEASES: deque[PortLease] = deque()
_KEPT_LEASES = 100
"""A program listens some seconds after its start; each port that is kept costs a file descriptor."""


def free_ports(count: int) -> list[int]:
    """Returns so many different ports that nobody listens to.

    Until programs listen there, no other process that asks gets them, and no outgoing connection.
    """
    _LEASES.append(lease := PortLease())
    if len(_LEASES) > _KEPT_LEASES:
        _LEASES.popleft().close()
    return [lease.take() for _ in range(count)]


def listens(port: int) -> bool:
    """Tells whether a program listens to a port."""
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def tf_configs(**sizes: int) -> dict[tuple[str, int], str]:
    """Returns the TF_CONFIG of every process of a cluster on this machine, by role and index."""
    ports = iter(free_ports(sum(sizes.values())))
    cluster = {role: [f"127.0.0.1:{next(ports)}" for _ in range(size)] for role, size in sizes.items()}
    return {
        (role, index): json.dumps({"cluster": cluster, "task": {"type": role, "index": index}})
        for role, size in sizes.items()
        for index in range(size)
    }
