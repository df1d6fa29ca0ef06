"""The order in which the logs of a run are shown."""

import os
from pathlib import Path

from qtj.local.folder import Folder

ORDER = (
    "toy-chief-0.1",
    "toy-worker-2.1",
    "toy-worker-10.1",
    "toy-worker-0.2",
    "toy-worker-0.10",
    "toy-inference-zz",
    "toy-inference-aa",
)


def test_logs_are_in_order_whatever_a_copy_has_made_of_their_times(tmp_path: Path) -> None:
    (tmp_path / "logs").mkdir()
    replicas, inference = ORDER[:5], ORDER[5:]
    for age, name in enumerate((*reversed(replicas), *inference)):
        path = tmp_path / "logs" / f"{name}.log"
        path.touch()
        os.utime(path, (age, age))

    assert tuple(path.stem for path in Folder(tmp_path).logs) == ORDER
