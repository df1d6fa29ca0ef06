"""Weights that the spec names: a program that knows nothing of the contract stores them."""

from pathlib import Path

import pytest

from tests.local.laptop import Laptop, Manifest, toy_job
from tools.background import wait_until

UNKNOWING = """
import pathlib, sys, urllib.parse
path = pathlib.Path(urllib.parse.unquote(urllib.parse.urlsplit(sys.argv[2]).path))
if sys.argv[1] == "train":
    path.write_text("weights")
else:
    assert path.read_text() == "weights"
"""
"""A program that knows nothing of the contract: its arguments contain the address of its weights."""


def unknowing_job(weights: str, uri: str = "gs://bucket/toy") -> Manifest:
    program = ["python", "-c", UNKNOWING]
    main = {"name": "trainer", "image": "theirs:1", "command": program}
    train, infer = (
        {"spec": {"containers": [{**main, "args": args}]}}
        for args in (["train", "$(QTJ_ARTIFACTS_URI)/w.h5"], ["infer", "$(QTJ_WEIGHTS_URI)"])
    )
    artifacts = {"uri": uri, "weights": weights}
    return toy_job(workers=1, artifacts=artifacts, template=train, inference={"template": infer})


@pytest.mark.parametrize(
    ("weights", "uri"),
    [
        ("w.h5", "gs://bucket/toy"),
        ("file:///data/toy/w.h5", "file:///data/toy"),
    ],
)
def test_weights_that_the_spec_names_lie_below_the_artifacts_of_this_machine(
    laptop: Laptop, weights: str, uri: str
) -> None:
    laptop.write(unknowing_job(weights, uri))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["weights"] == {"uri": (laptop.artifacts() / "w.h5").as_uri()}
    assert ended.job["spec"]["artifacts"] == {"uri": uri, "weights": weights}


def test_weights_elsewhere_than_the_artifacts_are_where_their_address_says(laptop: Laptop, tmp_path: Path) -> None:
    elsewhere = (tmp_path / "w.h5").as_uri()
    job = unknowing_job(elsewhere)
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", elsewhere]
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert (ended.code, ended.status["weights"]) == (0, {"uri": elsewhere}), ended.errors


def test_a_job_whose_weights_the_spec_names_goes_on_after_its_folder_was_moved(laptop: Laptop, tmp_path: Path) -> None:
    job = unknowing_job("w.h5")
    job["spec"]["template"]["spec"]["containers"][0]["command"][2] = (
        f"import pathlib, time\nwhile not pathlib.Path('go').exists():\n    time.sleep(0.1)\n{UNKNOWING}"
    )
    laptop.write(job)
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: laptop.processes() and laptop.worker(0))
    running.interrupt()
    assert running.end().code == 130

    (tmp_path / "qtj-artifacts/toy/1").rename(tmp_path / "moved")
    (tmp_path / "go").touch()
    ended = laptop.qtj("run", "job.yaml", "--artifacts", "moved", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["weights"] == {"uri": (tmp_path / "moved/w.h5").as_uri()}
