"""A Google Cloud Storage bucket as a store.

The client library retries temporary errors (429, 5xx, broken connections) for two minutes with growing pauses, and uses
the emulator in ``STORAGE_EMULATOR_HOST`` if that is set. Here its errors are converted to sentences.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress

import requests
from google.api_core import exceptions as api
from google.api_core.retry import Retry
from google.auth import exceptions as auth
from google.cloud import storage
from google.cloud.storage.exceptions import DataCorruption
from google.cloud.storage.retry import DEFAULT_RETRY

from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.storage.store import MissingObjectError

__all__ = ["GcsStore"]

_PROBE = ".writable"
"""Object that is written to check a bucket. A request for the permissions would need one more permission."""

_PAGE_TYPE = "text/html; charset=utf-8"
"""The type of a page, without which a browser would save it instead of showing it."""

_CREDENTIALS = "give the pod a service account with Workload Identity, or set GOOGLE_APPLICATION_CREDENTIALS"


class GcsStore:
    """Objects below ``gs://bucket/prefix``."""

    def __init__(self, bucket: str, prefix: str, *, retry: Retry = DEFAULT_RETRY) -> None:
        self._retry = retry
        self._prefix = f"{prefix}/" if prefix else ""
        self._where = f"gs://{bucket}"
        with self._explained("reach"):
            # A project is needed only to create buckets, which the trainer never does.
            self._client = storage.Client(project=None)
            self._bucket = self._client.bucket(bucket)

    def uri(self, name: str) -> str:
        """See `Store.uri`."""
        return f"{self._where}/{self._prefix}{name}"

    def check_writable(self) -> None:
        """See `Store.check_writable`."""
        self.write(_PROBE, b"")

    def read(self, name: str) -> bytes:
        """See `Store.read`."""
        with self._explained(f"read {self.uri(name)} from"):
            try:
                data: bytes = self._blob(name).download_as_bytes(retry=self._retry)
            except api.NotFound as problem:
                if self._bucket_is_missing():
                    raise
                raise MissingObjectError(self.uri(name)) from problem
            return data

    def write(self, name: str, data: bytes) -> None:
        """See `Store.write`. A retry is safe: each object has one writer, which always writes the same bytes."""
        kind = _PAGE_TYPE if name.endswith(".html") else "application/octet-stream"
        with self._explained(f"write {self.uri(name)} to"):
            self._blob(name).upload_from_string(data, content_type=kind, retry=self._retry)

    def list(self, folder: str) -> Sequence[str]:
        """See `Store.list`. A bucket has no interrupted writes."""
        return [*self.versions(folder)]

    def versions(self, folder: str) -> Mapping[str, str]:
        """See `Store.versions`."""
        return {name: str(blob.generation) for name, blob in self._listed(folder).items()}

    def sizes(self, folder: str) -> Mapping[str, int]:
        """See `Store.sizes`."""
        return {name: int(blob.size or 0) for name, blob in self._listed(folder).items()}

    def folders(self, folder: str) -> Sequence[str]:
        """See `Store.folders`. A bucket has no folders: it lists prefixes that end with a slash."""
        prefix = f"{self._prefix}{folder}/"
        with self._explained(f"list {self.uri(folder)} in"):
            blobs = self._client.list_blobs(self._bucket, prefix=prefix, delimiter="/", retry=self._retry)
            list(blobs)  # the prefixes are known once all pages were read
            return sorted(each.removeprefix(self._prefix).rstrip("/") for each in blobs.prefixes)

    def delete(self, name: str) -> None:
        """See `Store.delete`."""
        with self._explained(f"delete {self.uri(name)} from"), suppress(api.NotFound):
            self._blob(name).delete(retry=self._retry)

    def close(self) -> None:
        """See `Store.close`."""
        self._client.close()

    def _listed(self, folder: str) -> Mapping[str, storage.Blob]:
        prefix = f"{self._prefix}{folder}/"
        with self._explained(f"list {self.uri(folder)} in"):
            blobs = self._client.list_blobs(self._bucket, prefix=prefix, delimiter="/", retry=self._retry)
            return {blob.name.removeprefix(self._prefix): blob for blob in blobs}

    def _blob(self, name: str) -> storage.Blob:
        return self._bucket.blob(self._prefix + name)

    def _bucket_is_missing(self) -> bool:
        """Returns whether the bucket is missing, not only an object: a download answers 404 in both cases."""
        try:
            return not self._bucket.exists(retry=self._retry)
        except api.Forbidden:  # reading a bucket needs a separate permission, which readers of objects rarely have
            return False

    @contextmanager
    def _explained(self, attempt: str) -> Iterator[None]:
        try:
            yield
        except api.NotFound as problem:
            raise UserError(f"the bucket {self._where} does not exist: create it or correct the address") from problem
        except (api.Forbidden, api.Unauthorized) as problem:
            raise UserError(
                f"no permission to {attempt} {self._where}: grant roles/storage.objectUser on the bucket to the"
                " service account of the job"
            ) from problem
        except auth.DefaultCredentialsError as problem:
            raise UserError(f"no Google Cloud credentials to {attempt} {self._where}: {_CREDENTIALS}") from problem
        except auth.RefreshError as problem:  # also in the first seconds of a pod, before its metadata server answers
            raise TryAgainError(f"Google gave no token to {attempt} {self._where}: {_CREDENTIALS}") from problem
        except api.ClientError as problem:
            raise UserError(f"cannot {attempt} {self._where}: {problem.message}") from problem
        except ValueError as problem:
            raise UserError(f"cannot {attempt} {self._where}: {problem}") from problem
        except (api.GoogleAPIError, auth.TransportError, requests.RequestException, DataCorruption) as problem:
            raise TryAgainError(
                f"{self._where} did not answer, even after retries: run again when it does"
            ) from problem
