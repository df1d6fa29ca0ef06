"""A bucket as a store: against an emulator over HTTP, and against servers that fail."""

import gc
import threading
import time
import warnings
from collections.abc import Iterator
from contextlib import closing
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import pytest
from google.api_core.retry import Retry
from google.cloud import storage
from google.cloud.storage.retry import DEFAULT_RETRY

from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.storage import MissingObjectError, open_store, read_uri
from qtj_trainer.storage.gcs import GcsStore

QUICKLY = DEFAULT_RETRY.with_delay(initial=0.01)

TRUNCATED, SLOW = -1, -2
"""What a server may do besides answering with a status code: hang up in the middle, or take its time."""
SLOWNESS = 0.5
"""Seconds."""


@pytest.fixture
def address(bucket: storage.Bucket, emulator: str, monkeypatch: pytest.MonkeyPatch) -> str:
    """Points the client library to the emulator, and names a folder in its bucket."""
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", emulator)
    return f"gs://{bucket.name}/storage"


@pytest.fixture
def moody_server(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """Answers requests with what a list names, in turn, then with 200."""
    answers: list[int] = []

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            answer = answers.pop(0) if answers else 200
            if answer == SLOW:
                time.sleep(SLOWNESS)
            self.send_response(200 if answer < 0 else answer)
            self.send_header("Content-Length", "4")
            self.end_headers()
            self.wfile.write(b"da" if answer == TRUNCATED else b"data")
            self.close_connection = answer == TRUNCATED

        def log_message(self, *_: object) -> None:
            pass

    class Server(ThreadingHTTPServer):
        def handle_error(self, *_: object) -> None:
            """Logs nothing: clients that hang up after a failure are expected."""

    server = Server(("127.0.0.1", 0), Handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    monkeypatch.setenv("STORAGE_EMULATOR_HOST", f"http://127.0.0.1:{server.server_port}")
    yield answers
    server.shutdown()
    server.server_close()
    # The client library drops the connection of a failed download without closing it.
    with warnings.catch_warnings(action="ignore", category=ResourceWarning):
        gc.collect()


def read_from_moody(retry: Retry) -> bytes:
    with closing(GcsStore("b", "a", retry=retry)) as store:
        return store.read("x")


def test_a_browser_shows_a_page_and_saves_other_objects(address: str, bucket: storage.Bucket) -> None:
    with closing(open_store(address)) as store:
        store.write("reports/toy.html", b"<!DOCTYPE html>")
        store.write("weights/1.h5", b"weights")

    kinds = [bucket.get_blob(f"storage/{name}").content_type for name in ("reports/toy.html", "weights/1.h5")]
    assert kinds == ["text/html; charset=utf-8", "application/octet-stream"]


def test_what_is_written_is_read_back_by_its_address(address: str) -> None:
    with closing(open_store(address)) as store:
        store.check_writable()
        store.write("weights/1.h5", b"old")
        store.write("weights/1.h5", b"new")

    assert store.uri("weights/1.h5") == f"{address}/weights/1.h5"
    assert read_uri(store.uri("weights/1.h5")) == b"new"


def test_a_folder_lists_its_own_objects_until_they_are_deleted(address: str) -> None:
    with closing(open_store(address)) as store:
        for name in ("a/2", "a/1", "a/below/4", "b/3"):
            store.write(name, b"")

        assert store.list("a") == ["a/1", "a/2"]

        for name in ("a/1", "a/2", "a/2"):
            store.delete(name)
        assert store.list("a") == store.list("nowhere") == []
        assert store.list("b") == ["b/3"]


def test_a_missing_object_is_named(address: str) -> None:
    with pytest.raises(MissingObjectError, match=r"storage/a\.h5 does not exist"):
        read_uri(f"{address}/a.h5")


@pytest.mark.usefixtures("address")
def test_a_missing_bucket_is_named_by_writer_and_reader() -> None:
    with closing(open_store("gs://qtj-nowhere/a")) as store:
        with pytest.raises(UserError, match="the bucket gs://qtj-nowhere does not exist: create it"):
            store.check_writable()
        with pytest.raises(UserError, match="the bucket gs://qtj-nowhere does not exist: create it"):
            store.read("result.json")


@pytest.mark.usefixtures("address")
def test_a_name_no_bucket_can_have_is_refused() -> None:
    with pytest.raises(UserError, match="cannot reach gs://-b: Bucket names must start"):
        open_store("gs://-b/a")


def test_missing_credentials_are_explained(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("STORAGE_EMULATOR_HOST", raising=False)
    monkeypatch.setenv("GOOGLE_APPLICATION_CREDENTIALS", "/nowhere.json")

    with pytest.raises(UserError, match="no Google Cloud credentials to reach gs://b: give the pod a service account"):
        open_store("gs://b/a")


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see moody_server
def test_a_short_outage_is_survived(moody_server: list[int]) -> None:
    moody_server += [503, 429]

    assert read_from_moody(QUICKLY) == b"data"
    assert moody_server == []


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see moody_server
@pytest.mark.parametrize("answer", [TRUNCATED, SLOW])
def test_an_answer_that_is_cut_off_or_late_is_waited_for(moody_server: list[int], answer: int) -> None:
    moody_server += [answer, 503, answer]

    assert read_from_moody(QUICKLY) == b"data"
    assert moody_server in ([], [503, answer])  # a late answer is an answer


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # see moody_server
def test_answers_that_are_always_cut_off_ask_for_another_run(moody_server: list[int]) -> None:
    moody_server += [TRUNCATED] * 1000

    with pytest.raises(TryAgainError, match="gs://b did not answer"):
        read_from_moody(QUICKLY.with_timeout(0.1))
