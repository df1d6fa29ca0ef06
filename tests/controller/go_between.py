"""A wire to a server that can be cut or held, or is frail.

Where it is cut, its connections break, and new ones are refused until it is mended. Where it is frail, each connection
breaks once so and so many bytes have been answered, wherever in an answer that may be. Where it is held, its
connections stay, and nothing comes through.
"""

import itertools
import math
import select
import socket
import socketserver
import threading
from collections.abc import Iterable
from contextlib import suppress

__all__ = ["Wire"]


class Wire:
    """Passes bytes between a port of this machine and another one.

    Args:
        far: The server's port.
        near: The port to reach it by; it stays the same over cuts.
        lengths: How many bytes of answers the first connections carry, each before it breaks; the rest are sound.

    Attributes:
        held: Whether nothing comes through.
        callers: The near ends of its connections.
    """

    def __init__(self, far: int, near: int, lengths: Iterable[int] = ()) -> None:
        self.far, self.near = far, near
        self.held = False
        self.callers: set[socket.socket] = set()
        self._lengths = itertools.chain(lengths, itertools.repeat(math.inf))
        self._ends: list[socket.socket] = []
        self._is_cut = threading.Event()
        self._server: socketserver.ThreadingTCPServer | None = None

    def mend(self) -> None:
        """Connects the two ports."""
        wire = self
        self._is_cut = is_cut = threading.Event()

        class Passing(socketserver.BaseRequestHandler):
            def handle(self) -> None:
                wire.callers.add(self.request)
                wire._pass(self.request, is_cut)
                wire.callers.discard(self.request)

        self._server = _Server(("127.0.0.1", self.near), Passing)
        threading.Thread(target=self._server.serve_forever, args=(0.05,), daemon=True).start()

    def cut(self) -> None:
        """Breaks every connection, and lets nobody in."""
        if self._server:
            self._server.shutdown()
            self._server.server_close()
        self._is_cut.set()
        for end in self._ends:
            with suppress(OSError):
                end.shutdown(socket.SHUT_RDWR)
        self._ends.clear()

    def _pass(self, near: socket.socket, is_cut: threading.Event) -> None:
        left = next(self._lengths)
        with suppress(OSError), socket.create_connection(("127.0.0.1", self.far)) as far:
            self._ends += [near, far]
            if is_cut.is_set():  # since it was let in, and too late for `cut` to see its ends
                return
            other = {near: far, far: near}
            while ready := select.select([near, far], [], [])[0]:
                for end in ready:
                    data = end.recv(65536)
                    if not data:
                        return
                    if end is far:
                        data, left = data[: int(min(left, len(data)))], left - len(data)
                    if not self.held:
                        other[end].sendall(data)
                    if left <= 0:
                        return


class _Server(socketserver.ThreadingTCPServer):
    allow_reuse_address = True
    daemon_threads = True
    block_on_close = False
