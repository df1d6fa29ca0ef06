"""Commands for files with jobs. Each imports what it needs when it runs, for a quick `--help`."""

from pathlib import Path
from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import File, Filename, Settings, one_file
from qtj.terminal.errors import InputError, input_checked
from qtj.terminal.output_format import Output, formatted
from qtj.terminal.streams import print_stderr, print_stdout

__all__ = ["COMMANDS"]


def plan(
    file: File = None,
    filename: Filename = None,
    settings: Settings = None,
    output: Output = None,
) -> None:
    """Show what a job would create and need: objects and memory."""
    with input_checked():
        from qtj.preview.plan import plan_file

        plan_file(one_file(file, filename), settings or [], output)


def render(file: File = None, filename: Filename = None, settings: Settings = None, output: Output = None) -> None:
    """Print the manifests that the operator would create, for example for kubectl apply --dry-run=server -f -."""
    with input_checked():
        from qtj.preview.render import render_file

        print_stdout(render_file(one_file(file, filename), settings or [], output))


def validate(
    files: Annotated[
        list[Path] | None,
        typer.Argument(metavar="FILE...", help="YAML files with QuantumTrainingJobs; - reads stdin."),
    ] = None,
    filenames: Annotated[
        list[Path] | None,
        typer.Option("--filename", "-f", metavar="FILE", help="The same as FILE, as in kubectl."),
    ] = None,
    output: Output = None,
) -> None:
    """Check files as the API server and the operator would, and also the fields of pod templates."""
    with input_checked():
        from qtj.checks.validate import validate_files, validation_of

        named = [*(files or ()), *(filenames or ())]
        if not named:
            raise InputError("no file is named: write FILE or -f FILE, or - to read stdin")
        if output:
            found = [validation_of(path) for path in named]
            print_stdout(formatted(found, output, name=lambda each: each["file"], as_list=True))
            wrong = [mistake for each in found for mistake in each["mistakes"]]
            if wrong:
                raise InputError("\n".join(wrong))
        else:
            print_stdout(validate_files(named))


def convert(
    file: Annotated[
        Path | None, typer.Argument(metavar="TFJOB", help="YAML with a TFJob, or several; - reads stdin.")
    ] = None,
    filename: Filename = None,
    artifacts: Annotated[
        str | None, typer.Option(metavar="URI", help="Where artifacts are stored: spec.artifacts.uri.")
    ] = None,
    output: Output = None,
) -> None:
    """Convert a TFJob to a QuantumTrainingJob: the job to stdout, fields without an equivalent to stderr."""
    with input_checked():
        from qtj.create.convert import as_yaml, convert_file
        from qtj.runs.folders import check_not_empty

        check_not_empty(artifacts)
        converted = convert_file(one_file(file, filename), artifacts)
        print_stdout(
            formatted([each.manifest for each in converted], output) if output else as_yaml(converted).rstrip("\n")
        )
    for note in (note for each in converted for note in each.notes):
        print_stderr(f"qtj: {note}")


COMMANDS = (
    Command(validate, ("qtj validate examples/*.yaml", "qtj validate -f - < job.yaml")),
    Command(plan, ("qtj plan examples/qcnn.yaml", "qtj plan examples/qcnn.yaml --set spec.circuit.qubits=23")),
    Command(render, ("qtj render examples/qcnn.yaml", "qtj render job.yaml | kubectl apply --dry-run=server -f -")),
    Command(convert, ("qtj convert tfjob.yaml --artifacts gs://bucket/job > job.yaml",)),
)
