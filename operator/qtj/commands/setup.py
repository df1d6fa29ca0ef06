"""Commands for a new machine. Each imports what it needs when it runs, so that `--help` answers at once."""

import sys
from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from qtj.commands.answer import COMPLETE_VARIABLE
from qtj.commands.group import Command
from qtj.create.prompt import JobOptions, Kind, prompt_for
from qtj.local.extras import install_command, missing
from qtj.terminal.errors import InputError, input_checked
from qtj.terminal.output_format import Output
from qtj.terminal.streams import print_stdout

__all__ = ["COMMANDS"]


class Shell(StrEnum):
    """A shell that completion is written for."""

    BASH = "bash"
    ZSH = "zsh"
    FISH = "fish"


_AT_ONCE = """
if [ "$funcstack[1]" = "_qtj" ]; then
  _qtj_completion "$@"
fi"""
"""zsh reads the script from a folder of functions when TAB is pressed first. Typer's then only defines a function."""


def completion(shell: Annotated[Shell, typer.Argument(metavar="bash|zsh|fish", help="Your shell.")]) -> None:
    """Print a script with which TAB completes commands, options, names and files; put it where your shell reads it."""
    from typer.completion import get_completion_script  # type: ignore[attr-defined]

    script = get_completion_script(prog_name="qtj", complete_var=COMPLETE_VARIABLE, shell=shell.value)
    print_stdout(script + (_AT_ONCE if shell is Shell.ZSH else ""))


def init(
    kind: Annotated[
        Kind | None,
        typer.Argument(
            metavar="KIND",
            help="What it trains: qcnn (built in), circuit (your circuit in a Keras model), keras (your Keras model), "
            "loop (your own training loop), vqe (the ground state of a spin chain), qaoa (the largest cut of a graph), "
            "classifier (a circuit that encodes its data; needs scikit-learn), "
            "study (several learning rates and seeds of vqe).",
            show_default="asked for on a terminal",
        ),
    ] = None,
    name: Annotated[str | None, typer.Option(help="The job's name.", show_default="my-KIND")] = None,
    workers: Annotated[int, typer.Option(help="Workers that train together.", min=1)] = 1,
    epochs: Annotated[int, typer.Option(help="Epochs to train for.", min=1)] = 5,
    artifacts: Annotated[
        str | None, typer.Option(metavar="URI", help="Address of weights and results on a cluster: gs://BUCKET/PATH.")
    ] = None,
) -> None:
    """Write a new job to start from: NAME.yaml, and a program beside it. Without KIND, it asks.

    No file is overwritten.
    """
    with input_checked():
        from qtj.create.init import write_job
        from qtj.runs.folders import check_not_empty

        check_not_empty(artifacts)
        if kind is None and not sys.stdin.isatty():
            raise InputError(f"no kind is named: write qtj init KIND, one of {', '.join(Kind)}")
        job_options = JobOptions(kind=kind or Kind.QCNN, name=name, workers=workers, epochs=epochs, artifacts=artifacts)
        job_options = job_options if kind else prompt_for(job_options)
        files = write_job(job_options, Path())
    first = "" if job_options.kind == Kind.LOOP or not missing("trainer") else f"{install_command('trainer')}, then "
    print_stdout(f"wrote {' and '.join(map(str, files))}; next: {first}qtj run {files[0]}")


def doctor(
    artifacts: Annotated[
        str | None,
        typer.Option(metavar="FOLDER|URI", help="Write an object there and delete it: gs://BUCKET/PATH, for example."),
    ] = None,
    output: Output = None,
) -> None:
    """Check whether this machine has what qtj run needs, and the cluster of your kubeconfig.

    Prints a line for each check: ok, warning or missing, and what to do. Exit code: 1 if qtj run lacks something, else
    0.
    """
    with input_checked():
        from qtj.doctor.doctor import run_doctor
        from qtj.runs.folders import folder_named

        folder_named(artifacts)  # refuses what qtj run refuses
        code = run_doctor(output, artifacts)
    raise typer.Exit(code)


COMMANDS = (
    Command(doctor, ("qtj doctor", "qtj doctor --artifacts gs://bucket/path", "qtj doctor -o json"), asks_cluster=True),
    Command(init, ("qtj init keras", "qtj init qcnn --name first --workers 2 --epochs 10")),
    Command(
        completion,
        (
            'eval "$(qtj completion bash)"',
            "qtj completion zsh > ~/.zfunc/_qtj",
            "qtj completion fish > ~/.config/fish/completions/qtj.fish",
        ),
    ),
)
