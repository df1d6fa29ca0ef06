"""The commands for jobs. Each imports what it needs when it runs, so that `--help` answers at once."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Literal

import typer

from qtj_operator.cli.errors import INPUT, INTERRUPTED, InputError, end

__all__ = ["convert", "logs", "plan", "render", "report", "retry", "run", "validate"]

JobFile = Annotated[Path, typer.Argument(metavar="FILE", help="YAML with a QuantumTrainingJob, or several.")]
Settings = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="PATH=VALUE", help="Give a field another value, as often as needed."),
]
Artifacts = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|URI",
        help="Where artifacts are, in place of the job's spec.artifacts.uri: a folder, file:///PATH or "
        "gs://BUCKET/PATH.",
        show_default="qtj-artifacts/JOB",
    ),
]
JobName = Annotated[str, typer.Argument(metavar="JOB", help="The job's name.")]


def run(
    file: JobFile,
    settings: Settings = None,
    artifacts: Artifacts = None,
    output: Annotated[
        Literal["json"] | None,
        typer.Option("--output", "-o", help="Print the final object to stdout, and nothing else."),
    ] = None,
    *,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False,
    verbose: Annotated[bool, typer.Option("--verbose", "-v", help="Log what the operator does.")] = False,
) -> None:
    """Run a job on this machine: pods are processes, the rest is as on a cluster.

    Ctrl-C stops it so that --resume goes on from the last checkpoint; twice kills it. Exit code: 0 when the job is
    Complete, 1 when it Failed, 2 for bad input, 130 when interrupted.
    """
    with _input():
        from qtj_operator.cli.run import Options, run_file  # noqa: PLC0415

        options = Options(
            file=file,
            settings=settings or (),
            artifacts=artifacts,
            resume=resume,
            as_json=output == "json",
            verbose=verbose,
        )
        code = run_file(options)
    raise typer.Exit(code)


def plan(
    file: JobFile,
    settings: Settings = None,
    *,
    calibrate: Annotated[bool, typer.Option(help="Train for some seconds to estimate the time of an epoch.")] = True,
) -> None:
    """Say what a job would create and take: objects, memory, time."""
    with _input():
        from rich.console import Console  # noqa: PLC0415

        from qtj_operator.cli.plan import plan_file  # noqa: PLC0415

        plan_file(file, settings or [], Console(highlight=False), calibrated=calibrate)


def render(file: JobFile, settings: Settings = None) -> None:
    """Print the manifests that the operator would create, for example for kubectl apply --dry-run=server -f -."""
    with _input():
        from qtj_operator.cli.render import render_file  # noqa: PLC0415

        typer.echo(render_file(file, settings or []), nl=False)


def validate(
    files: Annotated[list[Path], typer.Argument(metavar="FILE...", help="YAML files with QuantumTrainingJobs.")],
) -> None:
    """Check files as the API server and the operator would, and the fields of pod templates besides."""
    with _input():
        from qtj_operator.cli.validate import validate_files  # noqa: PLC0415

        typer.echo(validate_files(files))


def convert(
    file: Annotated[Path, typer.Argument(metavar="TFJOB", help="YAML with a TFJob, or several.")],
    artifacts: Annotated[
        str | None, typer.Option(metavar="URI", help="Where artifacts are to go: spec.artifacts.uri.")
    ] = None,
) -> None:
    """Turn a TFJob into a QuantumTrainingJob: the job to stdout, what has no counterpart to stderr."""
    with _input():
        from qtj_operator.cli.convert import as_yaml, convert_file  # noqa: PLC0415

        converted = convert_file(file, artifacts)
        typer.echo(as_yaml(converted), nl=False)
    for note in (note for each in converted for note in each.notes):
        typer.echo(f"qtj: {note}", err=True)


def logs(
    job: JobName,
    replica: Annotated[
        str | None,
        typer.Argument(metavar="REPLICA", help="For example worker-0, or worker-0.2 for its second attempt."),
    ] = None,
    artifacts: Artifacts = None,
    *,
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on until the job ends.")] = False,
) -> None:
    """Show what the replicas of a job wrote on this machine."""
    with _input():
        from qtj_operator.cli.logs import show_logs  # noqa: PLC0415

        show_logs(job, replica, artifacts, follow=follow)


def report(job: JobName, artifacts: Artifacts = None) -> None:
    """Draw loss and predictions of a job that was run on this machine: report.png and report.txt in its folder."""
    with _input():
        from qtj_operator.cli.report import report_job  # noqa: PLC0415

        typer.echo(report_job(job, artifacts))


def retry(
    job: JobName,
    namespace: Annotated[
        str | None,
        typer.Option("--namespace", "-n", help="Where the job is.", show_default="that of the current context"),
    ] = None,
) -> None:
    """Let a job on a cluster that has failed go on from its last checkpoint: raises its spec.retry."""
    with _input():
        from qtj_operator.cli.retry import retry_job  # noqa: PLC0415

        typer.echo(retry_job(job, namespace))


@contextmanager
def _input() -> Iterator[None]:
    """Ends the command with one sentence for each mistake of the user's, and without one on Ctrl-C."""
    try:
        yield
    except InputError as problem:
        end(str(problem), INPUT)
    except KeyboardInterrupt:
        raise typer.Exit(INTERRUPTED) from None
