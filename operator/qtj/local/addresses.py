"""Local addresses of Services of the cluster in memory: each port is another port of the loopback interface.

Every replica of a job listens on the same three ports, which one machine has only once. So each port of each Service
gets another port here, which replaces it wherever a program gets its address (`qcnn-worker-0.default.svc:2222`). So
does each port of a pod that has a name below a Service of several pods (`qcnn-worker-0.qcnn.default.svc:2222`). Other
loopback addresses are no alternative: macOS has only 127.0.0.1, and programs listen on all addresses at once.
"""

import random
import re
import socket
from collections.abc import Callable, Iterator

__all__ = ["HOST", "PORTS", "Addresses", "NoFreePortError", "PortLease"]

HOST = "127.0.0.1"

PORTS = range(20_000, 32_000)
"""Below the ports that Linux (32768) and macOS (49152) give to outgoing connections."""

_LABEL = r"[a-z0-9]([-a-z0-9]*[a-z0-9])?"
_HOST_PORT = re.compile(rf"(?<![\w.-])(?P<host>{_LABEL}(\.{_LABEL}){{0,4}}):(?P<port>\d{{1,5}})(?!\d)")
_SUFFIX = re.compile(r"\.svc(\.cluster\.local)?$")


class NoFreePortError(Exception):
    """This machine has no port left; the message is one sentence."""


class PortLease:
    """Ports that no other `qtj run` on this machine takes, until this process ends.

    A program uses its port only some seconds after its start. Until then, a UDP socket of the same number marks it as
    taken, for every user and every folder of temporary files. The kernel closes it with the process, however that ends.
    """

    def __init__(self) -> None:
        self._marks: list[socket.socket] = []

    def close(self) -> None:
        """Releases all ports."""
        for mark in self._marks:
            mark.close()

    def take(self) -> int:
        """Returns a free port.

        Raises:
            NoFreePortError: There is none.
        """
        why = ""
        for port in random.sample(PORTS, len(PORTS)):
            mark = socket.socket(type=socket.SOCK_DGRAM)
            try:
                mark.bind((HOST, port))
                _must_be_free(port)
            except OSError as problem:
                mark.close()
                why = problem.strerror or str(problem)
            else:
                self._marks.append(mark)
                return port
        raise NoFreePortError(
            f"no port between {PORTS[0]} and {PORTS[-1]} can be used on this machine ({why}): end what uses them"
        )


class Addresses:
    """Ports of Services, and the local ports that replace them.

    Args:
        lease: Provides free ports.
        is_service: Returns whether a Service of this namespace and name exists.
    """

    def __init__(self, lease: PortLease, is_service: Callable[[str, str], bool]) -> None:
        self._lease = lease
        self._is_service = is_service
        self._ports: dict[tuple[str, str, int], int] = {}

    def port(self, namespace: str, name: str, port: int) -> int:
        """Returns the local port for a port of a Service, or of a pod below one, the same one at every call."""
        key = (namespace, name, port)
        if key not in self._ports:
            self._ports[key] = self._lease.take()
        return self._ports[key]

    def rewrite(self, text: str, namespace: str) -> str:
        """Returns `text` with every address of a Service, as pods of `namespace` name it, replaced by the local one."""

        def local(match: re.Match[str]) -> str:
            for where, service, name in _meanings(match["host"], namespace):
                if self._is_service(where, service):
                    return f"{HOST}:{self.port(where, name, int(match['port']))}"
            return match[0]

        return _HOST_PORT.sub(local, text)


def _meanings(host: str, namespace: str) -> Iterator[tuple[str, str, str]]:
    """Yields what a host may be, in a pod of a namespace: a Service, or a replica with a name below a job's Service.

    Yields:
        The namespace, the Service, and the name that has ports of its own here: the Service or the replica.
    """
    match _SUFFIX.sub("", host).split("."):
        case [service]:
            yield namespace, service, service
        case [service, where]:
            yield where, service, service
            if service.startswith(f"{where}-"):
                yield namespace, where, service
        case [replica, job, where] if replica.startswith(f"{job}-"):
            yield where, job, replica


def _must_be_free(port: int) -> None:
    """Raises an OSError unless a program could listen on the port on all addresses, as most do."""
    with socket.socket() as probe:
        probe.bind(("", port))
