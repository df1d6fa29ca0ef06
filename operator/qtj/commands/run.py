"""Commands for runs on this machine. Each imports what it needs when it runs, so that `--help` answers at once."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import (
    Artifacts,
    Cluster,
    DryRun,
    Epochs,
    Filename,
    FileOrProgram,
    JobTitle,
    Namespace,
    OneJob,
    ProgramArguments,
    RequirementsFile,
    RunName,
    RunNames,
    Settings,
    Verbose,
    Workers,
    one_file,
)
from qtj.commands.place import is_on_cluster, job_of_cluster
from qtj.terminal.errors import InputError, input_checked, needs_extra
from qtj.terminal.output_format import Output, OutputFormat, formatted
from qtj.terminal.streams import print_stderr, print_stdout

if TYPE_CHECKING:
    from qtj.runs.run import Options

__all__ = ["COMMANDS", "run_here"]

Resume = Annotated[
    bool,
    typer.Option("--resume", help="Continue the last run, even if it failed, or was Complete and has more epochs now."),
]
Fresh = Annotated[bool, typer.Option("--fresh", help="Start over, also when the last run was interrupted.")]
Detach = Annotated[
    bool, typer.Option("--detach", "-d", help="Continue without this terminal: see qtj attach and qtj stop.")
]
Parallel = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Of a study, run so many trials side by side.",
        show_default="as many as there are processors and memory for",
    ),
]
Csv = Annotated[
    Path | None, typer.Option(metavar="FILE", help="Write only the trials of a study, as CSV, to this file.")
]
Baseline = Annotated[
    str | None,
    typer.Option(
        metavar="NAME=VALUE,...",
        help="Of a study, the point that the best one is compared with.",
        show_default="the first point",
    ),
]


def run(
    file: FileOrProgram = None,
    arguments: ProgramArguments = None,
    filename: Filename = None,
    settings: Settings = None,
    artifacts: Artifacts = None,
    output: Output = None,
    epochs: Epochs = None,
    workers: Workers = None,
    name: JobTitle = None,
    requirements: RequirementsFile = None,
    *,
    resume: Resume = False,
    fresh: Fresh = False,
    detach: Detach = False,
    parallel: Parallel = None,
    dry_run: DryRun = False,
    verbose: Verbose = False,
) -> None:
    """Run a job or a study on this machine: pods are processes, the rest is as on a cluster.

    FILE is a job in YAML, or a program in Python, which needs no YAML: it runs in its own folder, as a job of its name.

    Each run has a folder of its own. Ctrl-C suspends it, and the next run continues from its last checkpoint. A second
    Ctrl-C kills its programs.

    Exit code: 0 Complete, 1 Failed, 2 bad input, 130 interrupted.
    """
    with input_checked():
        from qtj.report.local import page_at_end
        from qtj.runs.run import Options
        from qtj.script.documents import ProgramOptions

        _check_together(output, resume=resume, fresh=fresh, detach=detach)
        options = Options(
            file=one_file(file, filename),
            program=ProgramOptions(arguments=arguments or (), name=name, workers=workers, requirements=requirements),
            settings=[*(settings or ()), *([f"--epochs={epochs}"] if epochs else ())],
            artifacts=artifacts,
            resume=resume,
            fresh=fresh,
            detach=detach,
            output=output,
            dry_run=dry_run,
            verbose=verbose,
            parallel=parallel,
            at_end=page_at_end,
        )
        code = run_here(options)
    raise typer.Exit(code)


def run_here(options: "Options") -> int:
    """Runs a program, a study or jobs on this machine, whichever the file is.

    Returns:
        The exit code of `qtj run`.

    Raises:
        InputError: Something has to be corrected first.
    """
    from qtj.checks.study import study_of
    from qtj.files.documents import read_documents
    from qtj.runs.run import run_file, run_program
    from qtj.script.program import is_program

    options.program.check_unused(options.file)
    read = None if is_program(options.file) else read_documents(options.file)
    if read and (study := study_of(read, options.settings, here=True)):
        from qtj.studies.run import run_study

        return run_study(study, options)
    if options.parallel:
        raise InputError(f"--parallel is for a study, and {options.file} has none: leave it out")
    return run_file(read, options) if read else run_program(options)


def _check_together(output: Output, *, resume: bool, fresh: bool, detach: bool) -> None:
    if resume and fresh:
        raise InputError("--resume and --fresh contradict each other: leave one of them out")
    if detach and output not in {None, OutputFormat.NAME}:
        raise InputError("--detach has no final object to print: use -o name, and ask qtj status later")


def report(
    runs: RunNames = None,
    artifacts: Artifacts = None,
    output: Output = None,
    html: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Write only the page with the report, to this file.")
    ] = None,
    namespace: Namespace = None,
    csv: Csv = None,
    baseline: Baseline = None,
    *,
    cluster: Cluster = False,
    scaling: Annotated[
        bool, typer.Option("--scaling", help="Compare the throughput of runs by their devices and workers.")
    ] = False,
) -> None:
    """Show loss and predictions of a run: report.html, report.svg and report.txt in its folder.

    With several runs, compare them: comparison.html in qtj-artifacts. With -o, nothing is written.

    The name of a study prints its table, and writes its page with curves and links to its runs; with -n only the table.

    With --scaling, draw the throughput of several runs instead: scaling.svg and scaling.txt in qtj-artifacts.

    With --cluster or -n, show what the cluster knows and the job has stored. Nothing is written then, but with --html.
    """
    with input_checked(), needs_extra("operator", "report --cluster"):
        if html and (output or scaling):
            raise InputError("--html writes a page, and -o and --scaling do not: leave one of them out")
        if csv and (html or output or scaling):
            raise InputError("--csv writes a table and nothing else: leave --html, -o and --scaling out")
        is_there = is_on_cluster(namespace, artifacts, cluster=cluster)
        names = [] if scaling or artifacts else list(runs or ())
        one = names[0] if len(names) == 1 else ""
        text = None
        if one:
            from qtj.studies.report import Asked, cluster_study_report, study_report

            asked = Asked(output=output, html=html, table=csv, baseline=baseline)
            text = cluster_study_report(one, namespace, asked) if is_there else study_report(one, asked)
        if text is not None:
            print_stdout(text)
        elif csv or baseline:
            raise InputError("--csv and --baseline are about a study: name one, such as qtj report rates --csv FILE")
        elif is_there:
            print_stdout(_of_cluster(runs or (), namespace, output, html, scaling=scaling))
        elif scaling:
            print_stdout(_scaling(runs or (), artifacts, output))
        else:
            _report(runs or (), artifacts, output, html)


def _of_cluster(
    runs: Sequence[str], namespace: str | None, output: OutputFormat | None, html: Path | None, *, scaling: bool
) -> str:
    from qtj.report.cluster import report_cluster_job

    if scaling or len(runs) > 1:
        raise InputError("runs of this machine can be compared, and jobs of a cluster cannot: name one job")
    return report_cluster_job(job_of_cluster(runs[0] if runs else None, namespace), namespace, html, output)


def _report(runs: Sequence[str], artifacts: str | None, output: OutputFormat | None, html: Path | None) -> None:
    from qtj.report.report import report_for_programs, report_runs
    from qtj.runs.folders import check_different, find_run

    if artifacts and len(runs) > 1:
        raise InputError("--artifacts is the folder of one run, and several are named: leave one of them out")
    found = [find_run(name, artifacts) for name in runs or (None,)]
    check_different(found)
    if output:
        print_stdout(report_for_programs(found, output))
        return
    for part in report_runs(found, html):
        print_stdout(part)


def _scaling(names: Sequence[str], artifacts: str | None, output: OutputFormat | None) -> str:
    from qtj.local.history import History
    from qtj.report.scaling import report_scaling, scaling_of

    if artifacts:
        raise InputError("--artifacts is the folder of one run, and --scaling compares several: leave one of them out")
    found = scaling_of(names)
    if output:
        rows = [each.to_dict() for each in found.scales]
        return formatted(rows, output, name=lambda row: str(row["run"]), as_list=True)
    return report_scaling(found, History().root)


def list_runs(job: OneJob = None, output: Output = None) -> None:
    """List the runs of this folder, with the phase of each."""
    with input_checked():
        from qtj.local.hidden import shown
        from qtj.runs.summary import note_on_unlisted, recorded_runs, runs_table

        runs = recorded_runs(job)
        if output:
            jobs = [(run.name, shown(run.job)) for run in runs if run.is_readable]
            names = {id(job): name for name, job in jobs}
            objects = [job for _, job in jobs]
            print_stdout(formatted(objects, output, name=lambda obj: names[id(obj)], as_list=True))
        else:
            print_stdout(runs_table(runs) if runs else "there is no run in this folder yet: qtj run FILE starts one")
            if not job and (note := note_on_unlisted()):
                print_stderr(note)


def attach(run: RunName = None, artifacts: Artifacts = None) -> None:
    """Follow an active run, as `qtj run` shows it. After Ctrl-C, the run continues.

    Exit code: that of the run, or 130 after Ctrl-C.
    """
    with input_checked():
        from qtj.report.local import page_at_end
        from qtj.runs.attach import attach_to
        from qtj.runs.folders import find_run

        code = attach_to(find_run(run, artifacts), page_at_end)
    raise typer.Exit(code)


def stop(
    run: RunName = None,
    artifacts: Artifacts = None,
    *,
    now: Annotated[bool, typer.Option("--now", help="Kill its programs instead of asking them to end.")] = False,
) -> None:
    """Suspend an active run: its programs store a checkpoint, and `qtj run` of its file continues from there."""
    with input_checked():
        from qtj.runs.folders import find_run
        from qtj.runs.stop import stop_run

        print_stdout(stop_run(find_run(run, artifacts), at_once=now))


def prune(
    job: OneJob = None,
    keep: Annotated[int, typer.Option(min=0, help="How many runs of each job to keep: the last ones.")] = 1,
    *,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> None:
    """Remove old runs with their logs and artifacts, after asking. Active runs and artifacts in a bucket stay."""
    with input_checked():
        from qtj.runs.prune import old_runs, remove_runs
        from qtj_contract.quantities import in_words

        old = old_runs(job, keep)
        if not old:
            print_stdout("there is no old run to remove")
            return
        for each in old:
            what = f"only the link, {each.run.path.readlink()} stays" if each.run.is_elsewhere else in_words(each.size)
            print_stdout(f"{each.run.name}  {each.phase}  {what}")
        if not yes and not typer.confirm(f"Remove {len(old)} of them for ever?" if len(old) > 1 else "Remove it?"):
            print_stdout("nothing was removed")
            return
        remove_runs(old)


COMMANDS = (
    Command(
        run,
        (
            "qtj run examples/qcnn.yaml",
            "qtj run examples/qcnn.yaml -d",
            "qtj run --dry-run - < job.yaml",
            "qtj run train.py -- --seed 1",
        ),
    ),
    Command(
        report,
        (
            "qtj report qcnn",
            "qtj report qcnn/1 qcnn/2 --html both.html",
            "qtj report qcnn -n research --html qcnn.html",
        ),
        asks_cluster=True,
    ),
    Command(list_runs, ("qtj list", "qtj list qcnn -o name"), name="list"),
    Command(attach, ("qtj attach qcnn",)),
    Command(stop, ("qtj stop qcnn", "qtj stop qcnn --now")),
    Command(prune, ("qtj prune", "qtj prune qcnn --keep 3 --yes")),
)
