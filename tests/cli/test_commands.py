"""The rest of the command line: versions, files that cannot be written, logs, reports, programs that are not here."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from qtj_operator.cli.report import epochs_of, predictions_of
from tests.cli.qtj import qtj
from tests.cli.test_validate import GOOD


def test_the_version_is_told() -> None:
    assert qtj("--version").output.strip().count(".") == 2


INTERRUPTED_IMPORT = """
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from qtj_operator.cli import app
app()
"""


def test_a_ctrl_c_among_the_imports_is_no_traceback() -> None:
    ended = subprocess.run([sys.executable, "-c", INTERRUPTED_IMPORT], capture_output=True, check=False)

    assert (ended.returncode, ended.stderr) == (130, b"")


def test_the_maker_of_images_says_how_it_is_called() -> None:
    maker = Path(__file__).parents[2] / "examples/make_images.py"
    ended = subprocess.run([sys.executable, maker], capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert ended.stderr.startswith("usage: make_images.py [-h] FOLDER")


@pytest.mark.usefixtures("folder")
def test_a_crd_that_cannot_be_written_is_a_sentence() -> None:
    answer = qtj("crd", "--output", "no/such/folder/crd.yaml")

    assert answer.code == 2
    assert answer.sentences == [
        "cannot write no/such/folder/crd.yaml (No such file or directory): name a file in a folder that exists"
    ]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ((), 'job.yaml:16: image "registry.example/mine:1" is not pulled on this machine'),
        (
            ("--set", "spec.template.spec.containers[0].command=[no-such-program]"),
            'job.yaml:16: the program "no-such-program" of the container trainer is not on this machine',
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]",
             "--set", "spec.template.spec.containers[0].workingDir=/no/such/folder"),
            "job.yaml:16: workingDir /no/such/folder of the container trainer is no folder of this machine",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]",
             "--set", "spec.template.spec.containers[0].envFrom=[{secretRef: {name: keys}}]"),
            "job.yaml:16: Secret keys is not there: write it into the same file, or make it optional",
        ),
        (("--set", "spec.managedBy=kueue.x-k8s.io/multikueue"), "--set spec.managedBy=kueue.x-k8s.io/multikueue: "),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--artifacts", "s3://bucket"),
            "--artifacts s3://bucket: name a folder, file:///PATH or gs://BUCKET/PATH",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--resume"),
            "there is no job in ",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--artifacts", "/dev/null/x"),
            "cannot write to /dev/null/x (Not a directory): choose another folder with --artifacts",
        ),
    ],
)  # fmt: skip
def test_a_run_that_cannot_start_is_told_why(folder: Path, options: tuple[str, ...], sentence: str) -> None:
    (folder / "job.yaml").write_text(GOOD)

    answer = qtj("run", "job.yaml", *options)

    assert answer.code == 2
    assert answer.sentences[0].startswith(sentence)


@pytest.mark.parametrize("metadata", ["", " []", " [a]", " x"])
def test_metadata_that_is_no_mapping_is_a_sentence(folder: Path, metadata: str) -> None:
    (folder / "job.yaml").write_text(GOOD.replace("metadata:\n  name: qcnn", f"metadata:{metadata}"))

    what = ": this has to be a mapping: write its fields below it" if metadata else ".name: give the job a name"
    assert qtj("run", "job.yaml").sentences == [f"job.yaml:3: metadata{what}"]


def test_two_jobs_of_one_name_are_refused(folder: Path) -> None:
    (folder / "job.yaml").write_text(f"{GOOD}---\n{GOOD}")

    assert qtj("run", "job.yaml").sentences == ["job.yaml:28: metadata.name: two jobs of this file are called qcnn"]


@pytest.mark.parametrize("command", ["logs", "report"])
def test_a_job_that_was_never_run_has_neither_logs_nor_report(folder: Path, command: str) -> None:
    answer = qtj(command, "qcnn")

    assert answer.code == 2
    assert answer.sentences == [f"there is no job in {folder / 'qtj-artifacts/qcnn'}: nothing was run there yet"]


def left(folder: Path, status: dict[str, Any], result: str = "") -> Path:
    """Leaves what a run of a program leaves that says nothing of epochs in its log."""
    place = folder / "qtj-artifacts/own"
    (place / "logs").mkdir(parents=True)
    (place / "logs/own-worker-0.1.log").write_text("8/8 - 1s - loss: 2.28\n")
    (place / "job.json").write_text(json.dumps({"metadata": {"name": "own"}, "status": status}))
    (place / "result.json").write_text(result)
    return place


def test_the_report_of_a_program_that_logs_no_epochs_tells_of_its_result(folder: Path) -> None:
    done = [{"type": "Complete", "message": "training is done"}]
    status = {"phase": "Complete", "conditions": done, "progress": {"epoch": 5, "epochs": 5, "loss": 0.25}}
    place = left(folder, status, '{"metrics": {"mse": 0.5}}')

    answer = qtj("report", "own")

    assert answer.code == 0
    assert answer.output.splitlines() == [
        "own is Complete: training is done",
        "epochs         5 of 5",
        "loss           0.25 in the last epoch",
        "mse            0.5",
        "picture: none, for the logs tell of no epoch",
    ]
    assert (place / "report.txt").read_text().startswith("own is Complete")


def test_the_report_of_a_job_that_failed_says_why_and_where_to_look(folder: Path) -> None:
    place = left(folder, {"phase": "Failed", "conditions": [{"type": "Failed", "message": "own-worker-0 broke"}]})

    answer = qtj("report", "own")

    assert answer.code == 0
    assert answer.output.splitlines()[:2] == ["own is Failed: own-worker-0 broke", f"logs           {place / 'logs'}"]


def test_a_job_that_still_runs_has_nothing_to_report_before_its_first_epoch(folder: Path) -> None:
    left(folder, {"phase": "Running"})

    assert qtj("report", "own").sentences[0].endswith("tell of no epoch yet: look again when own has trained for one")


def test_a_repeated_epoch_counts_as_it_was_last() -> None:
    lines = [
        "epoch  9/25  loss 0.5000  mse 0.4000  signAccuracy 0.9000  210 examples/s",
        "epoch 10/25  loss 0.4000  mse 0.3000  signAccuracy 0.9100  210 examples/s",
        "resumed after epoch 9 from file:///x",
        "epoch 10/25  loss 0.3900  mse 0.2900  signAccuracy 0.9200  210 examples/s",
    ]

    assert [(each.number, each.loss, each.scores["signAccuracy"]) for each in epochs_of(lines)] == [
        (9, 0.5, 0.9),
        (10, 0.39, 0.92),
    ]


def test_the_table_of_predictions_is_found_among_other_lines() -> None:
    lines = [
        "       theta       qubit       label  prediction",
        "1.5 0 1 0.9",
        "3.1 1 -1 0.2  wrong",
        "2 held-out examples",
    ]

    found = predictions_of(lines)

    assert [(each.label, each.said, each.is_right) for each in found] == [(1, 0.9, True), (-1, 0.2, False)]
