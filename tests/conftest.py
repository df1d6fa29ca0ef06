"""Settings of all tests."""

import signal
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

CORE = {"api", "controller", "core", "manifests"}
"""Folders of `make check`, as in the Makefile."""

# A machine that is busy is no bug: only what is wrong may fail.
settings.register_profile("qtj", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("qtj")

# A shell lets what it runs in the background ignore interrupts, and so would the programs that tests interrupt.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)

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
    skipped: list[pytest.TestReport] = terminalreporter.getreports("skipped")
    reasons = Counter(report.longrepr[2] for report in skipped if isinstance(report.longrepr, tuple))
    for reason, count in reasons.most_common():
        terminalreporter.write_line(
            f"not run: {count} test{'s' if count > 1 else ''}, because {reason.removeprefix('Skipped: ')}"
        )
