"""What a job has stored, as this command reads it: weights, and what is beside them, in files and in buckets."""

import hashlib
import io
import warnings
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Any
from zipfile import BadZipFile

from qtj.terminal.errors import InputError
from qtj_contract.whole_file import read_regular, write_whole
from qtj_operator.api.status import WeightsStatus
from qtj_report.artifacts import NoAccessError, Read, file_of

__all__ = ["Weights", "read_any", "read_file", "recorded_weights", "stored_at", "stored_if_any", "stored_weights"]

_REMEDY = "`qtj fetch JOB --through-pod` reads it there"
_TEXTS = "SU"
"""Kinds of arrays that are texts: beside its arrays, a program stores the structure of its state."""
_SECONDS = 20.0
"""How long a bucket may take to answer."""


@dataclass(frozen=True, slots=True)
class Weights:
    """Weights as they are stored.

    Attributes:
        uri: Where.
        sha256: Their digest.
        data: Their bytes.
    """

    uri: str
    sha256: str
    data: bytes

    @property
    def name(self) -> str:
        """The name of their file."""
        return PurePosixPath(self.uri).name

    def save(self, path: str | Path) -> Path:
        """Writes them into a file, or into a folder by their name; returns the path.

        Raises:
            OSError: It cannot be written.
        """
        target = Path(path)
        target = target / self.name if target.is_dir() else target
        write_whole(target, self.data)
        return target

    def arrays(self) -> dict[str, Any]:
        """Returns the arrays by name, as NumPy has them.

        Raises:
            InputError: They are no arrays of NumPy: Keras reads its own files.
        """
        import numpy as np

        try:
            with np.load(io.BytesIO(self.data), allow_pickle=False) as stored:
                found = {name: stored[name] for name in stored.files}
        except (AttributeError, EOFError, OSError, TypeError, ValueError, BadZipFile):
            what = "no file of NumPy: save() writes them, and load_weights of the Keras model reads that file"
            raise InputError(f"{self.name} is {what}") from None
        return {name: array for name, array in found.items() if array.dtype.kind not in _TEXTS}


def stored_weights(job: str, weights: WeightsStatus | None, read: Read) -> Weights:
    """Returns the weights of a job.

    Args:
        job: Its name.
        weights: Where its status says they are.
        read: Reads them.

    Raises:
        InputError: There are none, they cannot be read, or they are others than those of the job.
    """
    recorded = recorded_weights(job, weights)
    data = stored_at(recorded.uri, "the weights", read)
    found = Weights(recorded.uri, hashlib.sha256(data).hexdigest(), data)
    if recorded.sha256 not in {None, found.sha256}:
        raise InputError(f"{found.uri} has other weights than those of {job}: somebody has replaced the file")
    return found


def recorded_weights(job: str, weights: WeightsStatus | None) -> WeightsStatus:
    """Returns where the weights of a job are.

    Raises:
        InputError: There are none.
    """
    if weights is None:
        raise InputError(f"{job} has stored no weights yet: they come at the end of its training")
    return weights


def stored_at(uri: str, what: str, read: Read) -> bytes:
    """Returns what is stored at an address.

    Raises:
        InputError: There is nothing, or it cannot be read.
    """
    data = stored_if_any(uri, read)
    if data is not None:
        return data
    if file_of(uri):
        raise InputError(f"{what} are not on this machine: {uri} is on a volume of the pods: {_REMEDY}")
    raise InputError(f"{what} are not there any more: {uri} was deleted")


def stored_if_any(uri: str, read: Read) -> bytes | None:
    """Returns what is stored at an address; None if there is nothing.

    Raises:
        InputError: It cannot be read.
    """
    try:
        return read(uri)
    except NoAccessError as problem:
        raise InputError(str(problem)) from None
    except OSError as problem:
        raise InputError(f"{file_of(uri) or uri} cannot be read ({problem.strerror}): correct that") from None


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
