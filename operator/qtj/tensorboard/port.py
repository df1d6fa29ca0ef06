"""The port on which TensorBoard is reached on this machine."""

import socket

from qtj.terminal.errors import InputError

__all__ = ["HOST", "usable_port"]

HOST = "127.0.0.1"


def usable_port(wanted: int) -> int:
    """Returns a port of this machine that nobody uses; 0 asks for any.

    Raises:
        InputError: It is in use, or may not be used.
    """
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((HOST, wanted))
        except OSError as problem:
            why = f"port {wanted} of this machine cannot be used ({problem.strerror})"
            raise InputError(f"{why}: choose another with --port, or any with --port 0") from None
        port: int = probe.getsockname()[1]
        return port
