"""The artifacts of a job as this command reads them: files of this machine, and objects in a bucket."""

import warnings

from qtj_contract.whole_file import read_regular
from qtj_report.artifacts import NoAccessError, file_of

__all__ = ["read_any", "read_file"]

_SECONDS = 20.0
"""How long a bucket may take to answer."""


def read_file(uri: str) -> bytes | None:
    """Reads an artifact of a run on this machine; see `qtj_report.artifacts.Read`."""
    path = file_of(uri)
    if path is None:
        raise NoAccessError(f"they are in the bucket: {uri.rpartition('/')[0]}")
    try:
        return read_regular(path)
    except FileNotFoundError:
        return None


def read_any(uri: str) -> bytes | None:
    """Reads an artifact of a job on a cluster, by the rights of the user; see `qtj_report.artifacts.Read`."""
    return read_file(uri) if file_of(uri) else _read_object(uri)


def _read_object(uri: str) -> bytes | None:
    try:
        from google.api_core.exceptions import NotFound
        from google.cloud.storage import Blob, Client
    except ImportError:
        need = "needs google-cloud-storage, which `pip install google-cloud-storage` installs"
        raise NoAccessError(f"to read {uri} {need}") from None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # about a user's own credentials, which are meant here
            blob = Blob.from_uri(uri, client=Client(project=None))
            data: bytes = blob.download_as_bytes(timeout=_SECONDS, retry=None)
    except NotFound:
        return None
    except Exception as problem:  # noqa: BLE001  libraries for credentials and for HTTP have no common error
        why = " ".join(str(problem).split()) or type(problem).__name__
        raise NoAccessError(f"{uri} cannot be read ({why}): `gcloud auth application-default login` signs in") from None
    return data
