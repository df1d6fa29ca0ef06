"""Commands that create, change or fetch jobs of a cluster. Each imports what it needs when it runs."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import (
    DryRun,
    Filename,
    FileOrProgram,
    JobName,
    JobTitle,
    Namespace,
    ProgramArguments,
    RequirementsFile,
    Settings,
    Workers,
    one_file,
)
from qtj.commands.run import run_here
from qtj.terminal.errors import InputError, input_checked, needs_extra
from qtj.terminal.output_format import Output, formatted
from qtj.terminal.streams import print_stderr, print_stdout

if TYPE_CHECKING:
    from qtj.control import Changed
    from qtj.script.documents import ProgramOptions
    from qtj.script.objects import Resources
    from qtj.submit.submit import Order

__all__ = ["COMMANDS"]

Image = Annotated[
    str | None,
    typer.Option(metavar="IMAGE", help="The program's image.", show_default="localhost/qtj-trainer:VERSION"),
]
Cpu = Annotated[str | None, typer.Option(metavar="CPU", help="The CPU that each worker requests.", show_default="250m")]
Memory = Annotated[
    str | None,
    typer.Option(metavar="SIZE", help="The memory of each worker: its request and its limit.", show_default="2Gi"),
]
Store = Annotated[
    str | None,
    typer.Option(
        metavar="URI",
        help="Where a program's results are stored: gs://BUCKET/PATH, or pvc://CLAIM/PATH for a volume.",
    ),
]

To = Annotated[
    Path | None, typer.Option(metavar="FOLDER", help="Where the files are written.", show_default="JOB-results")
]
ThroughPod = Annotated[
    bool,
    typer.Option("--through-pod", help="Read them in a pod with the image, volumes and service account of the job."),
]


def submit(
    file: FileOrProgram = None,
    arguments: ProgramArguments = None,
    filename: Filename = None,
    settings: Settings = None,
    artifacts: Store = None,
    output: Output = None,
    workers: Workers = None,
    cpu: Cpu = None,
    memory: Memory = None,
    image: Image = None,
    name: JobTitle = None,
    requirements: RequirementsFile = None,
    namespace: Namespace = None,
    *,
    follow: Annotated[
        bool, typer.Option("--follow", help="Follow the job until it has finished, as qtj status -w does.")
    ] = False,
    local: Annotated[bool, typer.Option("--local", help="Run it on this machine instead, as qtj run does.")] = False,
    dry_run: DryRun = False,
) -> None:
    """Create a job or a study on a cluster, from a program in Python or from YAML.

    A program travels with the modules and the files beside it that it names, in a ConfigMap that the job owns. With
    --dry-run, the API server checks everything; with -o as well, the objects are printed, and no cluster is asked.

    Exit code with --follow: that of the job, or 130 after Ctrl-C, which leaves the job alone.
    """
    with input_checked(), needs_extra("operator", "submit"):
        from qtj.script.documents import ProgramOptions
        from qtj.submit.submit import Order

        chosen = one_file(file, filename)
        program = ProgramOptions(arguments=arguments or (), name=name, workers=workers, requirements=requirements)
        if follow and dry_run:
            raise InputError("--follow and --dry-run contradict each other: leave one of them out")
        if local:
            code = _run_here(chosen, program, settings or (), output, dry_run=dry_run)
        else:
            order = Order(
                file=chosen,
                program=program,
                settings=settings or (),
                resources=_resources(image, cpu, memory),
                artifacts=artifacts,
                namespace=namespace,
            )
            code = _submit(order, output, follow=follow, dry_run=dry_run)
    raise typer.Exit(code)


def _run_here(file: Path, program: "ProgramOptions", settings: Sequence[str], output: Output, *, dry_run: bool) -> int:
    from qtj.report.local import page_at_end
    from qtj.runs.run import Options

    return run_here(
        Options(file=file, program=program, settings=settings, output=output, dry_run=dry_run, at_end=page_at_end)
    )


def _resources(image: str | None, cpu: str | None, memory: str | None) -> "Resources | None":
    from qtj.script.objects import Resources

    given = {"image": image, "cpu": cpu, "memory": memory}
    if not any(given.values()):
        return None
    _check_quantity("--cpu", cpu, "500m or 2")
    _check_quantity("--memory", memory, "512Mi or 2Gi")
    return Resources(**{key: value for key, value in given.items() if value is not None})


def _check_quantity(option: str, text: str | None, examples: str) -> None:
    from qtj_contract.quantities import amount_of

    if text is not None and (amount_of(text) or 0) <= 0:
        raise InputError(f"{option} {text}: write a quantity of Kubernetes above 0, such as {examples}")


def _submit(order: "Order", output: Output, *, follow: bool, dry_run: bool) -> int:
    from qtj.monitor.cluster import show_cluster_status
    from qtj.submit.submit import follow_command, prepare, printed, submit

    prepared = prepare(order)
    if follow and prepared.is_study:
        raise InputError(f"--follow shows one job, and {order.file} has a study: use kubectl get qts -w afterwards")
    if follow and len(prepared.submissions) > 1:
        raise InputError(f"--follow shows one job, and {order.file} has several: use qtj top --cluster afterwards")
    for note in prepared.notes:
        print_stderr(f"qtj: {note}")
    if dry_run and output:
        print_stdout(printed(prepared.objects, output))
        return 0
    jobs = submit(prepared, order.namespace, dry_run=dry_run)
    if output and not follow:
        print_stdout(printed(jobs, output))
    for job in () if output else jobs:
        where = f"{job['metadata']['name']} {{}} to namespace {job['metadata']['namespace']}"
        done = f"{where.format('is submitted')}: `{follow_command(job)}` follows it"
        print_stdout(f"{where.format('would be submitted')} (nothing was changed: --dry-run)" if dry_run else done)
    if not follow:
        return 0
    meta = jobs[0]["metadata"]
    return show_cluster_status(meta["name"], meta["namespace"], output, follow=True)


def suspend(job: JobName, namespace: Namespace = None, output: Output = None, *, dry_run: DryRun = False) -> None:
    """Suspend a job on a cluster: its pods end, and qtj resume continues it from its last checkpoint."""
    _set_suspend(job, namespace, output, suspend=True, dry_run=dry_run)


def resume(job: JobName, namespace: Namespace = None, output: Output = None, *, dry_run: DryRun = False) -> None:
    """Resume a suspended job on a cluster: it continues from its last checkpoint."""
    _set_suspend(job, namespace, output, suspend=False, dry_run=dry_run)


def cancel(job: JobName, namespace: Namespace = None, output: Output = None, *, dry_run: DryRun = False) -> None:
    """Stop a job on a cluster and keep its record, as qtj suspend does: qtj delete removes it as well.

    Its pods end and free their nodes. Its status, its events and what it has stored stay.
    """
    _set_suspend(job, namespace, output, suspend=True, dry_run=dry_run)


def delete(job: JobName, namespace: Namespace = None, output: Output = None, *, dry_run: DryRun = False) -> None:
    """Delete a job on a cluster, with its pods and its program. What it has stored stays."""
    with input_checked(), needs_extra("operator", "delete"):
        from qtj.control import delete_job

        _print(delete_job(job, namespace, dry_run=dry_run), output)


def retry(job: JobName, namespace: Namespace = None, output: Output = None, *, dry_run: DryRun = False) -> None:
    """Let a failed job on a cluster continue from its last checkpoint: raises its spec.retry."""
    with input_checked(), needs_extra("operator", "retry"):
        from qtj.control import retry_job

        _print(retry_job(job, namespace, dry_run=dry_run), output)


def fetch(job: JobName, to: To = None, namespace: Namespace = None, *, through_pod: ThroughPod = False) -> None:
    """Copy what a job on a cluster has stored to this machine: weights, predictions, the circuit and the report.

    They are read with your own rights. Where you have none to the bucket, or they are on a volume of the pods, a pod
    reads them that is removed afterwards: --through-pod. It takes the rights to create, get and delete pods, and to
    get and create pods/exec.
    """
    with input_checked(), needs_extra("operator", "fetch"):
        from qtj.report.fetch import fetch_cluster_job

        for line in fetch_cluster_job(job, namespace, to, through_pod=through_pod):
            print_stdout(line)


def _set_suspend(job: str, namespace: str | None, output: Output, *, suspend: bool, dry_run: bool) -> None:
    with input_checked(), needs_extra("operator", "suspend" if suspend else "resume"):
        from qtj.control import suspend_job

        _print(suspend_job(job, namespace, suspend=suspend, dry_run=dry_run), output)


def _print(changed: "Changed", output: Output) -> None:
    from qtj.local.hidden import shown

    print_stdout(formatted([shown(changed.job)], output) if output else changed.sentence)


COMMANDS = (
    Command(
        submit,
        (
            "qtj submit train.py --artifacts gs://bucket/train -- --seed 1",
            "qtj submit train.py --artifacts pvc://results --workers 2 --follow",
            "qtj submit job.yaml -n research",
            "qtj submit study.yaml",
        ),
        asks_cluster=True,
    ),
    Command(suspend, ("qtj suspend qcnn", "qtj suspend qcnn -n research"), asks_cluster=True),
    Command(resume, ("qtj resume qcnn",), asks_cluster=True),
    Command(cancel, ("qtj cancel qcnn",), asks_cluster=True),
    Command(delete, ("qtj delete qcnn",), asks_cluster=True),
    Command(retry, ("qtj retry qcnn", "qtj retry qcnn -n research"), asks_cluster=True),
    Command(
        fetch,
        ("qtj fetch qcnn", "qtj fetch qcnn -n research --to results", "qtj fetch qcnn --through-pod"),
        asks_cluster=True,
    ),
)
