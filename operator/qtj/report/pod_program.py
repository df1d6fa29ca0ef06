"""The program of a pod that reads what a job has stored: it writes the object at an address to stdout.

`qtj fetch --through-pod` sends the text of this file, so it imports nothing of this project.
"""

import shutil
import sys
from urllib.parse import unquote, urlsplit

__all__ = ["NOTHING_THERE"]

NOTHING_THERE = 44
"""The exit code if there is nothing at the address."""


def _copy_file(path: str) -> None:
    try:
        with open(path, "rb") as file:
            shutil.copyfileobj(file, sys.stdout.buffer)
    except FileNotFoundError:
        sys.exit(NOTHING_THERE)


def _copy_object(uri: str) -> None:
    from google.api_core.exceptions import NotFound
    from google.cloud.storage import Blob, Client

    try:
        sys.stdout.buffer.write(Blob.from_uri(uri, client=Client(project=None)).download_as_bytes())
    except NotFound:
        sys.exit(NOTHING_THERE)


def _main(uri: str) -> None:
    try:
        if uri.startswith("file:"):
            _copy_file(unquote(urlsplit(uri).path))
        else:
            _copy_object(uri)
    except Exception as problem:  # noqa: BLE001  whatever it is, the user reads it in one line
        sys.exit(" ".join(str(problem).split()) or type(problem).__name__)


if __name__ == "__main__":
    _main(sys.argv[1])
