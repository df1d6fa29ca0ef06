"""`import qtj` is cheap and does nothing."""

import subprocess
import sys

LOOK = """
import logging, os, signal, sys, threading
before = {number: signal.getsignal(number) for number in signal.valid_signals()}
modules, environment = set(sys.modules), dict(os.environ)
import qtj
%s
assert {number: signal.getsignal(number) for number in signal.valid_signals()} == before, "signals"
assert dict(os.environ) == environment, "environment"
assert not logging.getLogger().handlers, "log"
assert threading.active_count() == 1, "threads"
print(*sorted({name.partition(".")[0] for name in set(sys.modules) - modules}))
"""
HEAVY = {"IPython", "aiohttp", "cirq", "kopf", "kubernetes", "numpy", "pandas", "tensorflow", "qtj_trainer"}


def loaded(use: str = "") -> set[str]:
    """Returns the packages that a fresh Python has loaded after `import qtj` and what follows."""
    ended = subprocess.run([sys.executable, "-c", LOOK % use], capture_output=True, text=True, check=True)
    assert ended.stderr == ""
    return set(ended.stdout.split())


def test_the_import_loads_nothing_but_itself() -> None:
    assert loaded() - sys.stdlib_module_names == {"qtj"}


def test_a_job_of_this_machine_needs_no_library_of_a_cluster_or_a_framework() -> None:
    assert not loaded("qtj.Job.from_program('train.py'); qtj.Handle") & HEAVY


def test_every_name_is_there_and_others_are_told() -> None:
    use = """
for name in qtj.__all__:
    assert name in dir(qtj) and getattr(qtj, name) is not None
try:
    qtj.Jobs
except AttributeError as problem:
    assert str(problem) == "module 'qtj' has no attribute 'Jobs'"
else:
    raise AssertionError
"""
    loaded(use)
