"""`progress.jsonl`: who writes it while a job runs, and what is in it afterwards."""

from pathlib import Path
from typing import Any

from qtj.local.progress_log import ProgressLog, progress_history
from tests.local.laptop import Laptop, toy_job
from tools.background import wait_until

FAST = """
import json, os
with open(os.environ["QTJ_PROGRESS_LOG"], "a") as log:
    for epoch in range(1, 1001):
        print(json.dumps({"attempt": int(os.environ["QTJ_ATTEMPT"]), "epoch": epoch, "loss": 1 / epoch}), file=log)
"""
"""A thousand epochs within one poll, by a program that answers no poll at all."""


STOPPED = """
import json, os, signal, sys, time
from pathlib import Path
def stop(*_):
    with open(os.environ["QTJ_PROGRESS_LOG"], "a") as log:
        for epoch in (1, 2, 3):
            said = {"attempt": int(os.environ["QTJ_ATTEMPT"]), "epoch": epoch, "epochs": 9, "step": 7 * epoch}
            print(json.dumps(said), file=log)
    sys.exit(143)
signal.signal(signal.SIGTERM, stop)
Path("ready").touch()
time.sleep(600)
"""
"""A program that has done three epochs since it was polled, when it gets SIGTERM."""


def job(attempt: int = 1, **progress: Any) -> dict[str, Any]:
    return {"status": {"attempt": attempt, "progress": progress}}


def written(folder: Path) -> list[tuple[int, int]]:
    return [(each.attempt, each.number) for each in progress_history(folder).epochs]


def test_each_epoch_is_written_once_however_often_its_steps_are_told(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path, None)

    for epoch, step in ((0, 1), (1, 7), (1, 8), (2, 14)):
        log.notice(job(epoch=epoch, step=step, loss=0.5))

    assert len((tmp_path / "progress.jsonl").read_text().splitlines()) == 2
    assert written(tmp_path) == [(1, 1), (1, 2)]


def test_an_epoch_that_an_earlier_session_saw_is_not_taken_for_one_of_the_next_attempt(tmp_path: Path) -> None:
    ProgressLog(tmp_path, None).notice(job(epoch=3, step=21, loss=0.5))
    resumed = ProgressLog(tmp_path, job(epoch=3, step=21, loss=0.5))

    resumed.notice(job(attempt=2, epoch=3, step=21, loss=0.5))
    resumed.notice(job(attempt=2, epoch=4, step=28, loss=0.4))

    assert written(tmp_path) == [(1, 3), (2, 4)]


def test_an_epoch_that_the_program_has_written_itself_is_not_written_again(tmp_path: Path) -> None:
    log, lines = ProgressLog(tmp_path, None), tmp_path / "progress.jsonl"
    own = '{"attempt": 1, "epoch": 1, "loss": 0.5}\n'
    lines.write_text(own)

    log.notice(job(epoch=1, epochs=4, step=7, loss=0.5))
    known = lines.read_text()
    log.notice(job(epoch=1, epochs=4, loss=0.5, accuracy=0.9))

    assert known == own
    assert len(lines.read_text().splitlines()) == 2, "the program had not reported its accuracy"
    assert progress_history(tmp_path).epochs[0].accuracy == 0.9


def test_a_folder_that_cannot_be_written_to_ends_no_training(tmp_path: Path) -> None:
    log = ProgressLog(tmp_path / "gone", None)

    log.notice(job(epoch=1, loss=0.5))

    assert not progress_history(tmp_path / "gone").epochs


def test_a_line_that_a_full_disk_has_torn_costs_itself_alone(tmp_path: Path) -> None:
    (tmp_path / "progress.jsonl").write_text('{"attempt": 1, "epo')
    log = ProgressLog(tmp_path, None)

    log.notice(job(epoch=2, loss=0.5))
    log.notice(job(epoch=3, loss=0.4))

    assert written(tmp_path) == [(1, 2), (1, 3)]
    assert progress_history(tmp_path).unreadable == 1


def test_a_program_that_answers_polls_gets_a_record_of_its_epochs(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=10))

    ended = laptop.qtj("run", "job.yaml")

    numbers = [number for _, number in written(laptop.artifacts())]
    assert ended.code == 0, ended.errors
    assert numbers[-1] == 10, "its last report counts, even if no poll has seen it"
    assert len(numbers) >= 2


def test_a_program_that_writes_its_epochs_itself_misses_none(laptop: Laptop) -> None:
    manifest = toy_job(workers=1)
    del manifest["spec"]["inference"]
    manifest["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python", "-c", FAST], "args": []}
    laptop.write(manifest)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert written(laptop.artifacts()) == [(1, epoch) for epoch in range(1, 1001)]


def test_a_run_that_is_stopped_tells_the_last_epoch_that_its_program_has_done(laptop: Laptop) -> None:
    manifest = toy_job(workers=1, inference=None)
    manifest["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python", "-c", STOPPED], "args": []}
    laptop.write(manifest)
    running = laptop.start("run", "job.yaml")
    wait_until((laptop.folder / "ready").exists)

    running.interrupt()
    ended = running.end()

    assert ended.code == 130, ended.errors
    assert laptop.record()["status"]["progress"] == {"epoch": 3, "epochs": 9, "step": 21}
    assert written(laptop.artifacts()) == [(1, 1), (1, 2), (1, 3)]
    status = laptop.qtj("status").output
    assert "epoch       3/9\n" in status
    assert "why         it was stopped, by Ctrl-C or qtj stop\n" in status
