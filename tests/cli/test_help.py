"""What `qtj` says about itself, and about words it does not know."""

import re
import shlex
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.core import TyperGroup
from typer.main import get_command

from qtj.commands.main import GROUPS, app
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
