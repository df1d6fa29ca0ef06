"""What `qtj` says about itself, about words it does not know, and about a command line that cannot be carried out."""

import re
import shlex
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from qtj.commands.main import GROUPS, app
from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj
from tests.local.laptop import QTJ

COMMANDS = {each.name or each.function.__name__: each for group in GROUPS.values() for each in group}
EXAMPLES = [(name, example) for name, command in COMMANDS.items() for example in command.examples]


@pytest.mark.parametrize("name", COMMANDS)
def test_h_is_help_and_ends_with_examples(name: str) -> None:
    short, long = qtj(name, "-h"), qtj(name, "--help")

    assert (short.code, short.output) == (0, long.output)
    assert f"qtj {name}" in short.output.partition("Example")[2]


@pytest.mark.parametrize(("name", "example"), EXAMPLES)
def test_an_example_of_the_help_is_a_command_line_that_is_accepted(name: str, example: str) -> None:
    program, command, *words = shlex.split(re.findall(r"qtj [^|<>)]+", example)[0])
    application = get_command(app)
    assert isinstance(application, TyperGroup)

    context = application.commands[command].make_context(command, words)

    assert (program, command) == ("qtj", name)
    assert not context.args


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["rnu", "job.yaml"], "no such command 'rnu': did you mean 'run'? (see qtj --help)"),
        (["plan", "--sett"], "no such option: --sett: did you mean --set? (see qtj plan --help)"),
        (["retry"], "missing argument 'JOB' (see qtj retry --help)"),
        (["run"], "no file is named: write FILE or -f FILE, or - to read stdin"),
        (["validate"], "no file is named: write FILE or -f FILE, or - to read stdin"),
        (["run", "a", "-f", "b"], "two files are named, a and b: name one, as FILE or with -f FILE"),
    ],
)  # fmt: skip
def test_a_mistake_in_the_command_line_is_one_sentence(words: Sequence[str], sentence: str) -> None:
    answer = qtj(*words)

    assert answer.code == 2
    assert answer.sentences == [sentence]
    assert answer.output == ""


def test_without_a_command_all_of_them_are_listed() -> None:
    answer = qtj()

    assert answer.code == 2
    assert all(name in answer.output for name in COMMANDS)


def test_a_reader_that_leaves_is_no_failure() -> None:
    """The script closes its stdout's reader before qtj writes, as `| head -0` does by chance."""
    script = f"{shlex.join((*QTJ, 'crd'))}; echo $? >&2"
    ended = subprocess.run(
        ["bash", "-c", f"({script}) | exec true"], capture_output=True, text=True, check=False, timeout=60
    )

    assert ended.stderr == "0\n"


def test_an_exit_code_does_not_depend_on_the_reader(folder: Path) -> None:
    """The mistakes are on stderr, and what is for programs has no reader."""
    (folder / "wrong.yaml").write_text("kind: QuantumTrainingJob")
    script = f"{shlex.join((*QTJ, 'validate', 'wrong.yaml', '-o', 'json'))} 2>&1 >&3; echo $?"
    ended = subprocess.run(
        ["bash", "-c", f"({script}) 3> >(exec true)"], capture_output=True, text=True, check=False, cwd=folder
    )

    assert ended.stdout.splitlines()[-1] == "2"
    assert "Traceback" not in ended.stdout


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
