"""Artifacts under file:// and gs://, with one small protocol.

store = open_store("gs://bucket/qcnn")
store.write("weights/1f3c.h5", data)
read_uri("gs://bucket/qcnn/weights/1f3c.h5")
"""

from contextlib import closing
from pathlib import Path
from urllib.parse import unquote

from qtj_trainer.errors import UserError
from qtj_trainer.storage.files import FileStore
from qtj_trainer.storage.store import MissingObjectError, Store

__all__ = ["MissingObjectError", "Store", "open_store", "read_uri", "write_uri"]


def open_store(uri: str) -> Store:
    """Opens the store at an address.

    Args:
        uri: ``gs://bucket/path``, ``file:///path``, or a plain path.

    Returns:
        The store, which the caller must close; nothing is read or written yet.

    Raises:
        UserError: If the address is none of these, or there are no credentials for it.
    """
    scheme, colon, rest = uri.partition("://")
    if not colon:
        return FileStore(Path(uri))
    host, _, path = rest.partition("/")
    match scheme:
        case "file" if host:
            raise UserError(f"the address {uri!r} names a host: write file:///PATH, with three slashes")
        case "file":
            return FileStore(Path("/", unquote(path)))
        case "gs" if not host:
            raise UserError(f"the address {uri!r} names no bucket: write gs://BUCKET/PATH")
        case "gs":
            # The import of the client library takes half a second, and only buckets need it.
            from qtj_trainer.storage.gcs import GcsStore

            return GcsStore(host, path.strip("/"))
    raise UserError(f"the address {uri!r} has the unknown scheme {scheme!r}: use gs://BUCKET/PATH or file:///PATH")


def read_uri(uri: str) -> bytes:
    """Reads the object at an absolute address.

    Raises:
        MissingObjectError: If it does not exist.
        UserError: If the address is invalid or cannot be reached.
    """
    store, name = _located(uri)
    with closing(store):
        return store.read(name)


def write_uri(uri: str, data: bytes) -> None:
    """Creates or replaces the object at an absolute address.

    Raises:
        UserError: If the address is invalid or cannot be reached, or nothing can be written there.
    """
    store, name = _located(uri)
    with closing(store):
        store.write(name, data)


def _located(uri: str) -> tuple[Store, str]:
    folder, _, name = uri.rpartition("/")
    here = "/" if uri.startswith("/") else "."
    return open_store(folder or here), unquote(name) if uri.startswith("file://") else name
