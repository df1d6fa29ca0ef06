"""Commands for runs on this machine. Each imports what it needs when it runs, so that `--help` answers at once."""

from typing import Annotated

import typer

from qtj_operator.cli.errors import input_checked
from qtj_operator.cli.group import Command
from qtj_operator.cli.parameters import Artifacts, DryRun, File, Filename, JobName, Settings, Verbose, one_file
from qtj_operator.cli.printing import Output

__all__ = ["COMMANDS"]


def run(
    file: File = None,
    filename: Filename = None,
    settings: Settings = None,
    artifacts: Artifacts = None,
    output: Output = None,
    *,
    resume: Annotated[bool, typer.Option("--resume", help="Go on with a run that was interrupted.")] = False,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Run a job on this machine: pods are processes, the rest is as on a cluster.

    Ctrl-C stops it so that --resume goes on from the last checkpoint; twice kills it.

    Exit code: 0 Complete, 1 Failed, 2 bad input, 130 interrupted.
    """
    with input_checked():
        from qtj_operator.cli.run import Options, run_file  # noqa: PLC0415

        options = Options(
            file=one_file(file, filename),
            settings=settings or (),
            artifacts=artifacts,
            resume=resume,
            output=output,
            dry_run=dry_run,
            verbose=verbose,
        )
        code = run_file(options)
    raise typer.Exit(code)


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
    with input_checked():
        from qtj_operator.cli.logs import show_logs  # noqa: PLC0415

        show_logs(job, replica, artifacts, follow=follow)


def report(job: JobName, artifacts: Artifacts = None) -> None:
    """Draw loss and predictions of a job that was run on this machine: report.png and report.txt in its folder."""
    with input_checked():
        from qtj_operator.cli.report import report_job  # noqa: PLC0415

        typer.echo(report_job(job, artifacts))


COMMANDS = (
    Command(
        run, ("qtj run examples/qcnn.yaml", "qtj run examples/qcnn.yaml --resume", "qtj run --dry-run - < job.yaml")
    ),
    Command(logs, ("qtj logs qcnn", "qtj logs qcnn worker-0 -f")),
    Command(report, ("qtj report qcnn",)),
)
