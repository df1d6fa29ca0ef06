"""Sockets that listen on all addresses of this machine."""

import socket

__all__ = ["listening"]


def listening(port: int) -> socket.socket:
    """Returns a socket that listens on a port of both IP versions: a cluster may have only IPv6.

    Args:
        port: The port; 0 chooses a free one.

    Raises:
        OSError: The port is in use.
    """
    both = socket.has_dualstack_ipv6()
    family = socket.AF_INET6 if both else socket.AF_INET
    return socket.create_server(("", port), family=family, dualstack_ipv6=both)
