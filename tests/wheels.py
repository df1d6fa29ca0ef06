"""Tiny wheels, and a folder or a server that is an index of them."""

import hashlib
import io
import threading
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def wheel(name: str, version: str, *needs: str) -> tuple[str, bytes]:
    """The name and the bytes of a wheel with one module, whose VERSION is its own; the bytes are always the same."""
    info = f"{name}-{version}.dist-info"
    needed = "".join(f"Requires-Dist: {each}\n" for each in needs)
    files = {
        f"{name}.py": f"VERSION = {version!r}\n",
        f"{info}/METADATA": f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n{needed}",
        f"{info}/WHEEL": "Wheel-Version: 1.0\nGenerator: tests\nRoot-Is-Purelib: true\nTag: py3-none-any\n",
    }
    files[f"{info}/RECORD"] = "".join(f"{each},,\n" for each in (*files, f"{info}/RECORD"))
    content = io.BytesIO()
    with zipfile.ZipFile(content, "w") as archive:
        for path, text in files.items():
            archive.writestr(zipfile.ZipInfo(path), text)
    return f"{name}-{version}-py3-none-any.whl", content.getvalue()


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@contextmanager
def index_of(wheels: Mapping[str, bytes], *, code: int = 200) -> Iterator[str]:
    """The address of a simple index on the loopback interface; with another code, of one that has a fault."""

    class Index(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            *_, project, file = self.path.split("/")
            names = [each for each in wheels if each.split("-")[0] == project]
            page = "".join(f'<a href="{each}">{each}</a>' for each in names).encode()
            found = wheels.get(file, page if names else None)
            self.send_response(code if code != 200 else 404 if found is None else 200)
            self.send_header("Content-Type", "text/html")
            self.end_headers()
            self.wfile.write(found or b"")

        def log_message(self, *_: object) -> None:
            """Nobody reads it."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Index) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield f"http://127.0.0.1:{server.server_port}/simple"
        server.shutdown()
