"""Settings of all tests."""

import os
import signal
import tempfile
from collections import defaultdict
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CORE = {"api", "cluster", "controller", "core", "manifests", "study", "tools"}
"""Folders of `make check`, as in the Makefile."""

# A machine that is busy is no bug: only what is wrong may fail.
settings.register_profile("qtj", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("qtj")

# A shell lets what it runs in the background ignore interrupts, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

# The key for digests of secrets: a test leaves nothing in the home of whoever runs it.
os.environ["XDG_STATE_HOME"] = str(Path(tempfile.gettempdir()) / f"qtj-tests-{os.getuid()}")

# And nohup lets it ignore hang-ups.
signal.signal(signal.SIGHUP, signal.SIG_DFL)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Marks what needs a kube-apiserver, and what needs no more than Python."""
    for item in items:
        if "programs" in getattr(item, "fixturenames", ()):
            item.add_marker("api_server")
        if item.path.relative_to(Path(__file__).parent).parts[0] in CORE and not item.get_closest_marker("api_server"):
            item.add_marker("core")


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """Names what was not run, in a sentence for each reason."""
    folders: defaultdict[str, list[str]] = defaultdict(list)
    for report in terminalreporter.getreports("skipped"):
        if isinstance(report.longrepr, tuple):
            reason = str(report.longrepr[2]).removeprefix("Skipped: ")
            folders[reason].append(report.nodeid.partition("::")[0].rpartition("/")[0])
    for reason, found in folders.items():
        tests = f"{len(found)} test{'s' if len(found) > 1 else ''} of {', '.join(sorted(set(found)))}"
        terminalreporter.write_line(f"not run: {tests}, because {reason}")
