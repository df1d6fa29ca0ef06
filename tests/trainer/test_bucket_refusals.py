"""Answers of a bucket that are not an object, and the sentence for each of them."""

import gc
import threading
import warnings
from collections.abc import Callable, Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.auth import exceptions as auth
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY

from qtj_trainer.errors import TrainerError, TryAgainError, UserError
from qtj_trainer.storage import MissingObjectError
from qtj_trainer.storage.gcs import GcsStore

QUICKLY = DEFAULT_RETRY.with_delay(initial=0.01).with_timeout(0.2)


class Bucket:
    """A server that answers every request for objects with one code, and for the bucket itself with another."""

    def __init__(self) -> None:
        self.objects = self.itself = 200
        outer = self

        class Handler(BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_GET(self) -> None:
                length = int(self.headers["Content-Length"] or 0)
                self.rfile.read(length)
                is_object = "/o" in self.path
                self.send_response(outer.objects if is_object else outer.itself)
                self.send_header("Content-Length", "2")
                self.send_header("Content-Type", "application/json")
                self.end_headers()
                self.wfile.write(b"{}")

            do_POST = do_DELETE = do_GET

            def log_message(self, *_: object) -> None:
                pass

        class Server(ThreadingHTTPServer):
            def handle_error(self, *_: object) -> None:
                """Logs nothing: clients that hang up after a failure are expected."""

        self._server = Server(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}"
        threading.Thread(target=self._server.serve_forever, daemon=True).start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()


@pytest.fixture
def bucket(monkeypatch: pytest.MonkeyPatch) -> Iterator[Bucket]:
    server = Bucket()
    gc.freeze()  # what is there before need not be looked at
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", server.address)
    yield server
    server.close()
    # The client library drops the connection of a failed download without closing it.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()
    gc.unfreeze()


DOINGS: dict[str, Callable[[GcsStore], object]] = {
    "read gs://b/runs/x from": lambda store: store.read("x"),
    "write gs://b/runs/x to": lambda store: store.write("x", b"data"),
    "write gs://b/runs/.writable to": lambda store: store.check_writable(),
    "list gs://b/runs/weights in": lambda store: store.list("weights"),
    "delete gs://b/runs/x from": lambda store: store.delete("x"),
}


def refusal(attempt: str) -> TrainerError:
    with closing(GcsStore("b", "runs", retry=QUICKLY)) as store, pytest.raises(TrainerError) as refused:
        DOINGS[attempt](store)
    return refused.value


@pytest.mark.parametrize("attempt", DOINGS)
def test_a_missing_permission_is_reported_with_the_attempt_and_the_role_it_needs(bucket: Bucket, attempt: str) -> None:
    bucket.objects = 403

    refused = refusal(attempt)

    assert isinstance(refused, UserError)
    assert str(refused) == (
        f"no permission to {attempt} gs://b: grant roles/storage.objectUser on the bucket to the service account of "
        "the job"
    )


@pytest.mark.parametrize("attempt", DOINGS)
def test_another_refusal_is_quoted_and_final(bucket: Bucket, attempt: str) -> None:
    bucket.objects = 412

    refused = refusal(attempt)

    assert isinstance(refused, UserError)
    assert str(refused).startswith(f"cannot {attempt} gs://b: ")


@pytest.mark.parametrize("attempt", DOINGS)
def test_a_bucket_that_fails_on_and_on_asks_for_another_run(bucket: Bucket, attempt: str) -> None:
    bucket.objects = 503

    refused = refusal(attempt)

    assert isinstance(refused, TryAgainError)
    assert str(refused) == "gs://b did not answer, even after retries: run again when it does"


@pytest.mark.parametrize("attempt", [each for each in DOINGS if each.startswith(("write", "list"))])
def test_a_missing_bucket_is_named_by_all_that_need_it(bucket: Bucket, attempt: str) -> None:
    bucket.objects = bucket.itself = 404

    assert str(refusal(attempt)) == "the bucket gs://b does not exist: create it or correct the address"


def test_what_is_not_there_is_deleted_already(bucket: Bucket) -> None:
    bucket.objects = 404

    with closing(GcsStore("b", "runs", retry=QUICKLY)) as store:
        store.delete("x")


@pytest.mark.parametrize(("itself", "kind"), [(200, MissingObjectError), (403, MissingObjectError), (404, UserError)])
def test_a_missing_object_is_distinguished_from_a_missing_bucket_as_far_as_permissions_allow(
    bucket: Bucket, itself: int, kind: type[UserError]
) -> None:
    bucket.objects, bucket.itself = 404, itself

    refused = refusal("read gs://b/runs/x from")

    assert type(refused) is kind
    assert ("the bucket gs://b does not exist" in str(refused)) is (kind is UserError)


def test_a_server_that_is_not_there_asks_for_another_run(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", "http://127.0.0.1:9")

    assert isinstance(refusal("list gs://b/runs/weights in"), TryAgainError)


@pytest.mark.parametrize(
    ("problem", "kind", "sentence"),
    [
        (auth.DefaultCredentialsError("none"), UserError, "no Google Cloud credentials to read gs://b/runs/x from"),
        (auth.RefreshError("not yet"), TryAgainError, "Google gave no token to read gs://b/runs/x from gs://b: give"),
        (auth.TransportError("gone"), TryAgainError, "gs://b did not answer"),
    ],
)
@pytest.mark.usefixtures("bucket")
def test_a_token_that_cannot_be_had_is_a_sentence(
    monkeypatch: pytest.MonkeyPatch, problem: Exception, kind: type[TrainerError], sentence: str
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise problem

    monkeypatch.setattr(storage.Blob, "download_as_bytes", refuse)

    refused = refusal("read gs://b/runs/x from")

    assert type(refused) is kind
    assert str(refused).startswith(sentence)


@pytest.mark.usefixtures("bucket")
def test_a_bucket_without_a_folder_has_addresses_too() -> None:
    with closing(GcsStore("b", "", retry=QUICKLY)) as store:
        assert store.uri("weights/1.h5") == "gs://b/weights/1.h5"
        assert store.folders("weights") == []
