"""The rest of the command line: versions, files that cannot be written, logs, programs that are not here."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj


def test_the_version_is_told() -> None:
    assert qtj("--version").output.strip().count(".") == 2


INTERRUPTED_IMPORT = """
import sys

class Interrupt:
    def find_spec(self, name, *_):
        if name == "typer":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
from qtj import app
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
            "--set spec.template.spec.containers[0].workingDir=/no/such/folder: workingDir '/no/such/folder' of the",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]",
             "--set", "spec.template.spec.containers[0].envFrom=[{secretRef: {name: keys}}]"),
            "--set spec.template.spec.containers[0].envFrom=[{secretRef: {name: keys}}]: Secret keys does not exist: ",
        ),
        (("--set", "spec.managedBy=kueue.x-k8s.io/multikueue"), "--set spec.managedBy=kueue.x-k8s.io/multikueue: "),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--artifacts", "s3://bucket"),
            "--artifacts s3://bucket: name a folder, file:///PATH or gs://BUCKET/PATH",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--resume"),
            "there is no run of qcnn in this folder to continue: leave --resume out",
        ),
        (
            ("--set", "spec.template.spec.containers[0].command=[python]", "--artifacts", "/dev/null/x"),
            "cannot write to /dev/null/x (Not a directory): name another folder with --artifacts",
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


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize("command", ["logs", "report"])
def test_a_job_that_was_never_run_has_neither_logs_nor_report(command: str) -> None:
    answer = qtj(command, "qcnn")

    assert answer.code == 2
    assert answer.sentences[0].startswith("the job qcnn was not run in this folder: `qtj list` shows what was")
