"""The answer of an API server to `kubectl exec`: the command runs in a process of this machine, beside a websocket.

Messages of the protocol v4.channel.k8s.io are a channel and its bytes; frames are those of RFC 6455.
"""

import base64
import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler
from typing import Any

__all__ = ["execute_here"]

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"
_PIECE = 30_000


def execute_here(handler: BaseHTTPRequestHandler, command: Sequence[str]) -> None:
    """Runs a command whose first word is `python`, and answers as the API server does."""
    key = f"{handler.headers['Sec-WebSocket-Key']}{_GUID}".encode()
    handler.send_response(101)
    handler.send_header("Upgrade", "websocket")
    handler.send_header("Connection", "Upgrade")
    handler.send_header("Sec-WebSocket-Protocol", "v4.channel.k8s.io")
    handler.send_header("Sec-WebSocket-Accept", base64.b64encode(hashlib.sha1(key).digest()).decode())
    handler.end_headers()
    for message in _messages(command):
        handler.wfile.write(bytes([0x82, 126]) + len(message).to_bytes(2, "big") + message)
    handler.wfile.write(b"\x88\x00")
    handler.close_connection = True


def _messages(command: Sequence[str]) -> Iterator[bytes]:
    assert command[0] == "python"
    ended = subprocess.run([sys.executable, *command[1:]], capture_output=True, check=False)
    for channel, data in ((b"\1", ended.stdout), (b"\2", ended.stderr)):
        for begin in range(0, len(data), _PIECE):
            yield channel + data[begin : begin + _PIECE]
    yield b"\3" + json.dumps(_status(ended.returncode)).encode()


def _status(code: int) -> dict[str, Any]:
    if not code:
        return {"status": "Success"}
    causes = [{"reason": "ExitCode", "message": str(code)}]
    return {"status": "Failure", "reason": "NonZeroExitCode", "details": {"causes": causes}}
