"""`qtj run` of a study whose points are chosen from the trials before, as its user has it."""

import importlib.util

import pytest

from tests.local.laptop import Laptop
from tests.local.test_study_here import a_study, trained
from tests.missing import skip_or_fail
from tools.background import wait_until


def test_tpe_chooses_points_from_the_trials_before_and_a_second_command_repeats_none(laptop: Laptop) -> None:
    if importlib.util.find_spec("optuna") is None:
        skip_or_fail("Optuna is missing: pip install 'quantumtrainingjob[search]'")
    limits = [{"name": "rate", "range": {"min": 0, "max": 1}}]
    laptop.write(a_study(parameters=limits, search={"algorithm": "TPE"}, maxTrials=6))

    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 0, ended.output + ended.errors
    assert "mse of 6/6 trials" in ended.output
    assert len({line.split()[0] for line in trained(laptop)}) == 3
    assert "mse of 6/6 trials" in laptop.qtj("run", "job.yaml").output
    assert len(trained(laptop)) == 6


SLOW_SAMPLER = """
import pathlib, sys, time
if "qtj_operator.sampler" in sys.orig_argv and pathlib.Path("slow-here").exists():
    pathlib.Path("asked-here").touch()
    time.sleep(100)
"""


def test_a_study_that_is_interrupted_while_a_point_is_chosen_starts_no_other_trial(laptop: Laptop) -> None:
    limits = [{"name": "rate", "range": {"min": 0, "max": 1}}]
    laptop.write(a_study("--hold-at=1", parameters=limits, seeds=None, search={"algorithm": "TPE"}, maxTrials=3))
    (laptop.folder / "sitecustomize.py").write_text(SLOW_SAMPLER)
    running = laptop.start("run", "job.yaml", "--parallel", "1", PYTHONPATH=str(laptop.folder))
    wait_until(lambda: len(trained(laptop)) == 1)
    for name in ("slow-here", "released-here"):
        (laptop.folder / name).touch()
    wait_until((laptop.folder / "asked-here").exists)

    running.interrupt()
    stopped = running.end(seconds=30)

    assert (stopped.code, stopped.errors) == (130, "")
    assert "mse of 1/3 trials" in stopped.output
    assert len(trained(laptop)) == 1


def test_a_sampler_that_is_not_installed_is_one_sentence(laptop: Laptop) -> None:
    if importlib.util.find_spec("torch"):
        pytest.skip("torch is installed")
    limits = [{"name": "rate", "range": {"min": 0, "max": 1}}]
    laptop.write(a_study(parameters=limits, search={"algorithm": "GP"}, maxTrials=6))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 2
    assert "torch, not installed where trials are chosen" in ended.errors
    assert "Traceback" not in ended.errors
    assert trained(laptop) == []
