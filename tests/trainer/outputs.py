"""What a trainer's process prints, and the progress that it serves."""

from urllib.request import urlopen

import qtj_contract as contract
from tests.trainer.processes import Ended, Process
from tools.background import listens, wait_until


def epochs_in(output: str) -> list[int]:
    return [
        int(line.removeprefix("epoch").partition("/")[0]) for line in output.splitlines() if line.startswith("epoch")
    ]


def said_of_resuming(ended: Ended) -> str:
    return next(line for line in ended.output.splitlines() if line.startswith("resumed"))


def progress_of(process: Process) -> contract.Progress:
    port = process.environment["QTJ_METRICS_PORT"]
    wait_until(lambda: listens(int(port)))
    with urlopen(f"http://127.0.0.1:{port}{contract.PROGRESS_PATH}") as answer:
        progress = contract.Progress.parse(answer.read().decode())
    assert progress is not None
    return progress
