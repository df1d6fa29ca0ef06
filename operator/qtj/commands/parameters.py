"""Arguments and options that several commands share: declared once, so that names and help are the same."""

from pathlib import Path
from typing import Annotated

import typer

from qtj.cluster.choice import CHOICE
from qtj.commands.names import context_names, jobs, jobs_of_cluster, namespaces, runs
from qtj.terminal.errors import InputError

__all__ = [
    "Artifacts",
    "Cluster",
    "Context",
    "DryRun",
    "Epochs",
    "File",
    "FileOrProgram",
    "Filename",
    "JobName",
    "JobNames",
    "JobTitle",
    "Kubeconfig",
    "Namespace",
    "OneJob",
    "ProgramArguments",
    "RequirementsFile",
    "RunName",
    "RunNames",
    "RunOrFile",
    "Settings",
    "Verbose",
    "Workers",
    "one_file",
]

File = Annotated[
    Path | None,
    typer.Argument(metavar="FILE", help="YAML with a QuantumTrainingJob, or several; - reads stdin."),
]
FileOrProgram = Annotated[
    Path | None,
    typer.Argument(
        metavar="FILE",
        help="YAML with a QuantumTrainingJob, or several; - reads stdin. Or a program in Python, FILE.py.",
    ),
]
ProgramArguments = Annotated[
    list[str] | None,
    typer.Argument(metavar="ARGS", help="The arguments of the program FILE.py, after --.", show_default=False),
]
Workers = Annotated[
    int | None,
    typer.Option(metavar="N", min=1, help="Workers that train the program together.", show_default="1"),
]
JobTitle = Annotated[
    str | None,
    typer.Option("--name", metavar="NAME", help="The name of the program's job.", show_default="that of the file"),
]
RequirementsFile = Annotated[
    Path | None,
    typer.Option(
        "--requirements",
        metavar="FILE",
        help="Packages that the program FILE.py needs, in the format of pip. A cluster installs them in each pod; this "
        "machine only says which it lacks.",
    ),
]
Filename = Annotated[
    Path | None,
    typer.Option("--filename", "-f", metavar="FILE", help="The same as FILE, as in kubectl."),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="PATH=VALUE",
        help="Set a field to another value, or an argument of the program, as in --set --seed=3; can be given several "
        "times.",
    ),
]
Epochs = Annotated[
    int | None, typer.Option(metavar="N", min=1, help="Train so many epochs: short for --set --epochs=N.")
]
Artifacts = Annotated[
    str | None,
    typer.Option(
        metavar="FOLDER|URI",
        help="Where artifacts are, in place of the job's spec.artifacts.uri: a folder, file:///PATH or "
        "gs://BUCKET/PATH.",
        show_default="qtj-artifacts/JOB/NUMBER",
    ),
]


RunName = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN",
        help="A job's name for its last run, or JOB/NUMBER, as `qtj list` shows it.",
        show_default="the last run of all",
        autocompletion=runs,
    ),
]
RunOrFile = Annotated[
    str | None,
    typer.Argument(
        metavar="RUN|FILE",
        help="A job's name for its last run, JOB/NUMBER as `qtj list` shows it, or a file with one job.",
        show_default="the last run of all",
    ),
]
RunNames = Annotated[
    list[str] | None,
    typer.Argument(
        metavar="RUN...",
        help="A job's name for its last run, or JOB/NUMBER, as `qtj list` shows it. With --scaling, a job's name is "
        "for all of its runs, and there may be several.",
        show_default="the last run of all",
        autocompletion=runs,
    ),
]
JobName = Annotated[
    str, typer.Argument(metavar="JOB", help="The job's name, on the cluster.", autocompletion=jobs_of_cluster)
]
OneJob = Annotated[
    str | None,
    typer.Argument(metavar="JOB", help="The job's name.", show_default="all jobs", autocompletion=jobs),
]
Namespace = Annotated[
    str | None,
    typer.Option(
        "--namespace",
        "-n",
        help="Where the job is.",
        show_default="that of the current context",
        autocompletion=namespaces,
    ),
]
JobNames = Annotated[
    list[str] | None,
    typer.Argument(metavar="JOB...", help="Their names.", show_default="all jobs", autocompletion=jobs),
]
Cluster = Annotated[
    bool, typer.Option("--cluster", help="On the cluster of your kubeconfig, as -n does and as `kubectl qtj` is.")
]
DryRun = Annotated[
    bool, typer.Option("--dry-run", help="Check everything without writing, and print what would be done.")
]
Verbose = Annotated[bool, typer.Option("--verbose", "-v", help="Log what the operator does.")]


def _choose_kubeconfig(file: str | None) -> str | None:
    CHOICE.choose_kubeconfig(file)
    return file


def _choose_context(name: str | None) -> str | None:
    try:
        CHOICE.choose_context(name)
    except InputError as problem:
        raise typer.BadParameter(str(problem)) from None
    return name


# As a command line is parsed: completion needs them, and carries no command out.
Kubeconfig = Annotated[
    str | None,
    typer.Option(
        metavar="FILE",
        help="The kubeconfig of the cluster, as for kubectl.",
        show_default="KUBECONFIG, or ~/.kube/config",
        callback=_choose_kubeconfig,
        is_eager=True,
    ),
]
Context = Annotated[
    str | None,
    typer.Option(
        metavar="NAME",
        help="The context of the kubeconfig, and so the cluster.",
        show_default="the current one",
        callback=_choose_context,
        autocompletion=context_names,
    ),
]


def one_file(file: Path | None, filename: Path | None) -> Path:
    """Returns the file that a command was called with, as its argument or by -f.

    Raises:
        InputError: There is none, or there are two.
    """
    if file is not None and filename is not None:
        raise InputError(f"two files are named, {file} and {filename}: name one, as FILE or with -f FILE")
    chosen = filename if file is None else file
    if chosen is None:
        raise InputError("no file is named: write FILE or -f FILE, or - to read stdin")
    return chosen
