"""Commands for runs, finished or active. Each imports what it needs when it runs."""

from typing import Annotated

import typer

from qtj.commands.group import Command
from qtj.commands.parameters import Artifacts, OneJob, RunName
from qtj.terminal.errors import input_checked
from qtj.terminal.output_format import Output, formatted
from qtj.terminal.streams import print_stderr, print_stdout

__all__ = ["COMMANDS"]


def list_runs(job: OneJob = None, output: Output = None) -> None:
    """List the runs of this folder, with the phase of each."""
    with input_checked():
        from qtj.local.hidden import shown
        from qtj.runs.listing import note_on_unlisted, recorded_runs, runs_table

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
    Command(list_runs, ("qtj list", "qtj list qcnn -o name"), name="list"),
    Command(attach, ("qtj attach qcnn",)),
    Command(stop, ("qtj stop qcnn", "qtj stop qcnn --now")),
    Command(prune, ("qtj prune", "qtj prune qcnn --keep 3 --yes")),
)
