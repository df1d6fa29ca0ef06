"""`qtj fetch` and `qtj report` of a job of a cluster read a bucket with the rights of the user."""

import hashlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from qtj.report.stored import read_any, read_file
from qtj_report.artifacts import NoAccessError
from tests.cli.fake_api import JOBS, FakeApi, bucket_with
from tests.cli.qtj import qtj
from tests.local.laptop import toy_job

PREDICTIONS = b'{"task": "regression", "examples": 1, "labels": [1.0], "predictions": [0.5]}'
WEIGHTS = {"uri": "gs://lab/toy/weights/1.h5", "sha256": hashlib.sha256(b"numbers").hexdigest()}
STORED = {
    "/lab/o/toy/weights/1.h5": (200, b"numbers"),
    "/lab/o/toy/weights/1.json": (200, b'{"workload": "toy", "options": {"seed": 7}}'),
    "/lab/o/toy/weights/1.predictions.json": (200, PREDICTIONS),
}
OBJECTS = {"/lab/o/toy/reports/toy 1.jsonl": (200, b"{}"), "/lab/o/secret": (403, b"no right to storage.objects.get")}


def job(api: FakeApi, **status: Any) -> None:
    """Puts a job on the cluster."""
    meta = {"name": "toy", "namespace": "lab", "uid": "1", "creationTimestamp": "2030-01-01T12:00:00Z"}
    api.objects[JOBS, "toy"] = {**toy_job(), "metadata": meta, "status": status}


def test_weights_what_is_beside_them_and_the_report_come_home(api: FakeApi) -> None:
    job(api, phase="Complete", attempt=1, weights=WEIGHTS)

    with bucket_with(STORED):
        answer = qtj("fetch", "toy", "-n", "lab", "--to", "home/toy")

    assert (answer.code, answer.output.splitlines()) == (
        0,
        [
            "weights: home/toy/1.h5",
            "predictions: home/toy/1.predictions.json",
            "record: home/toy/1.json",
            "report: home/toy/report.html",
        ],
    )
    assert Path("home/toy/1.h5").read_bytes() == b"numbers"
    assert Path("home/toy/1.predictions.json").read_bytes() == PREDICTIONS
    assert "seed" in Path("home/toy/report.html").read_text()


def test_without_a_folder_it_is_named_after_the_job(api: FakeApi) -> None:
    job(api, phase="Complete", attempt=1, weights=WEIGHTS)

    with bucket_with(STORED):
        assert qtj("fetch", "toy").output.startswith("weights: toy-results/1.h5\n")


@pytest.mark.parametrize(
    ("status", "objects", "sentence"),
    [
        ({}, STORED, "toy has stored no weights yet: they come at the end of its training"),
        ({"weights": WEIGHTS}, {}, "the weights are not there any more: gs://lab/toy/weights/1.h5 was deleted"),
        (
            {"weights": WEIGHTS},
            {"/lab/o/toy/weights/1.h5": (200, b"others")},
            "gs://lab/toy/weights/1.h5 has other weights than those of toy: somebody has replaced the file",
        ),
        (
            {"weights": WEIGHTS},
            {"/lab/o/toy/weights/1.h5": (403, b"no right to storage.objects.get")},
            "gs://lab/toy/weights/1.h5 cannot be read (403 ",
        ),
        (
            {"weights": WEIGHTS},
            {**STORED, "/lab/o/toy/weights/1.predictions.json": (403, b"no right to storage.objects.get")},
            "gs://lab/toy/weights/1.predictions.json cannot be read (403 ",
        ),
        (
            {"weights": {**WEIGHTS, "uri": "file:///nowhere/1.h5"}},
            STORED,
            "the weights are not on this machine: file:///nowhere/1.h5 is on a volume of the pods: ",
        ),
    ],
)
def test_what_cannot_be_read_is_one_sentence_and_nothing_is_written(
    api: FakeApi, folder: Path, status: dict[str, Any], objects: dict[str, tuple[int, bytes]], sentence: str
) -> None:
    job(api, phase="Complete", attempt=1, **status)

    with bucket_with(objects):
        answer = qtj("fetch", "toy")

    assert (answer.code, answer.output, len(answer.sentences)) == (2, "", 1)
    assert answer.sentences[0].startswith(sentence)
    assert [path.name for path in folder.iterdir()] == ["kubeconfig"]


def test_a_folder_that_cannot_be_written_is_one_sentence(api: FakeApi, folder: Path) -> None:
    job(api, phase="Complete", attempt=1, weights=WEIGHTS)
    (folder / "taken").write_text("")

    with bucket_with(STORED):
        answer = qtj("fetch", "toy", "--to", "taken/toy")

    assert answer.code == 2
    assert answer.sentences == [
        "cannot write taken/toy/1.h5 (Not a directory): make room, or name another folder with --to"
    ]


def test_a_job_that_is_not_there_is_one_sentence(api: FakeApi) -> None:
    assert qtj("fetch", "toy").sentences == ["there is no job toy in namespace lab: `kubectl get qtj -A` lists all"]
    assert api.asked == []


@pytest.fixture
def bucket() -> Iterator[None]:
    with bucket_with(OBJECTS):
        yield


@pytest.mark.usefixtures("bucket")
def test_an_object_of_a_bucket_is_read_and_a_missing_one_is_none() -> None:
    assert read_any("gs://lab/toy/reports/toy 1.jsonl") == b"{}"
    assert read_any("gs://lab/toy/reports/toy-2.jsonl") is None


@pytest.mark.usefixtures("bucket")
def test_a_bucket_that_refuses_is_a_sentence() -> None:
    with pytest.raises(NoAccessError, match=r"^gs://lab/secret cannot be read \(403 .*objects.get.*\): `gcloud "):
        read_any("gs://lab/secret")


def test_without_the_library_a_sentence_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "google.cloud.storage", None)

    with pytest.raises(NoAccessError, match="to read gs://lab/x needs google-cloud-storage"):
        read_any("gs://lab/x")


def test_files_are_read_where_they_are(tmp_path: Path) -> None:
    (tmp_path / "a b").write_bytes(b"x")

    for read in (read_any, read_file):
        assert read((tmp_path / "a b").as_uri()) == b"x"
        assert read((tmp_path / "none").as_uri()) is None
    with pytest.raises(OSError, match="Is a directory"):
        read_any(tmp_path.as_uri())
