"""`qtj doctor`: checks what `qtj run` needs on this machine, a cluster, and a bucket."""

from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import asdict
from functools import partial

from qtj.doctor import machine, software
from qtj.doctor.finding import Finding, Level, run_check
from qtj.terminal.errors import COMPLETE, FAILED
from qtj.terminal.output_format import OutputFormat, formatted
from qtj.terminal.streams import print_stdout

__all__ = ["run_doctor"]


def run_doctor(form: OutputFormat | None, artifacts: str | None) -> int:
    """Runs every check, and prints a line for each.

    Args:
        form: The form; None for lines for people.
        artifacts: The address at which to check that it can be written to; None to skip this check.

    Returns:
        The exit code: 0 unless something is missing that `qtj run` needs.
    """
    findings = []
    for finding in _findings(artifacts):
        findings.append(finding)
        if form is None:
            print_stdout(str(finding))
    if form:
        print_stdout(
            formatted([asdict(each) for each in findings], form, name=lambda each: str(each["check"]), as_list=True)
        )
    return FAILED if any(each.level == Level.MISSING for each in findings) else COMPLETE


def _findings(artifacts: str | None) -> Iterator[Finding]:
    checks: dict[str, Callable[[], Finding]] = {
        **machine.CHECKS,
        **software.CHECKS,
        "cluster": _cluster,
    }
    if artifacts is not None:
        checks["artifacts"] = partial(software.artifacts, artifacts)
    with ThreadPoolExecutor() as pool:  # the slow ones take seconds each
        running: list[Future[Finding]] = [pool.submit(run_check, name, check) for name, check in checks.items()]
        for each in running:
            yield each.result()


def _cluster() -> Finding:
    try:
        from qtj.doctor.cluster import cluster
    except ModuleNotFoundError as problem:
        return Finding("cluster", Level.WARNING, f"not checked, without {problem.name}")
    return cluster()
