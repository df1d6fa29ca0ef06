"""A bucket of Cloud Storage on a port of this machine: downloads alone."""

import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from unittest.mock import patch
from urllib.parse import unquote

__all__ = ["bucket_with"]

Objects = Mapping[str, tuple[int, bytes]]
"""Code and body of the answer, by /BUCKET/o/NAME."""


@contextmanager
def bucket_with(objects: Objects) -> Iterator[None]:
    """Serves objects until the context ends, as the bucket of this process."""

    class Bucket(BaseHTTPRequestHandler):
        """Answers downloads as Cloud Storage does."""

        def do_GET(self) -> None:
            place = unquote(self.path.partition("?")[0]).removeprefix("/download/storage/v1/b")
            code, body = objects.get(place, (404, b"none"))
            self.send_response(code)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = HTTPServer(("127.0.0.1", 0), Bucket)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        with patch.dict(os.environ, STORAGE_EMULATOR_HOST=f"http://127.0.0.1:{server.server_port}"):
            yield
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
