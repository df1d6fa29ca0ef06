"""What `qtj status` says of one run, line by line."""

from pathlib import Path

from qtj.local.folder import Folder
from qtj.runs.describe import describe
from qtj.runs.folders import RecordedRun


def test_the_longest_name_of_a_metric_is_apart_from_its_value(tmp_path: Path) -> None:
    inference = {"phase": "Complete", "run": "1", "metrics": {"signAccuracy": 0.95, "mse": 0.5}}
    job = {"metadata": {"name": "own"}, "spec": {}, "status": {"phase": "Complete", "inference": inference}}

    lines = describe(RecordedRun("own/1", Folder(tmp_path), job)).splitlines()

    assert "signAccuracy 0.95" in lines
    assert "mse         0.5" in lines
