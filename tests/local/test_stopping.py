"""While the programs of a stopped job are ending, the job is not reported as suspended."""

from pathlib import Path

from qtj.local.folder import Folder
from qtj.local.follow import follow
from tests.local.laptop import Laptop, toy_job
from tests.local.test_follow import job, phases
from tools.background import wait_until

SLOW = """
import os, signal, sys, time
def end(*_):
    while not os.path.exists("enough"):
        time.sleep(0.02)
    sys.exit(75)
signal.signal(signal.SIGTERM, end)
open("ready", "w").close()
time.sleep(600)
"""


def test_what_is_stopping_is_told_to_be_until_its_programs_have_ended(laptop: Laptop) -> None:
    slow = toy_job(workers=1, inference=None)
    main = {"name": "trainer", "image": "toy:1", "command": ["python", "-c", SLOW]}
    slow["spec"]["template"]["spec"]["containers"] = [main]
    laptop.write(slow)
    running = laptop.start("run", "job.yaml")
    wait_until((laptop.folder / "ready").exists)

    running.interrupt()
    wait_until(lambda: laptop.record()["status"].get("phase") == "Suspended")
    status, listed = laptop.qtj("status"), laptop.qtj("list")
    (laptop.folder / "enough").touch()
    ended = running.end()

    assert "phase       Stopping\nwhy         its programs were asked to end, and have not ended yet\n" in status.output
    assert "toy/1   Stopping" in listed.output
    assert [line[11:] for line in ended.output.splitlines()][-4:-2] == [
        "toy  stopping",
        "toy is Suspended: spec.suspend is true",
    ]
    assert "phase       Interrupted\n" in laptop.qtj("status").output


def test_who_follows_a_run_learns_of_its_suspension_when_its_programs_have_ended(tmp_path: Path) -> None:
    folder = Folder(tmp_path)
    folder.claim()
    folder.save(job("Running"))
    changes = follow(folder)
    seen = [next(changes)]
    folder.ask_to_stop(at_once=False)
    folder.save(job("Suspended"))
    (tmp_path / "events.jsonl").write_text("")
    folder.record_event({"type": "Normal", "reason": "x", "message": "y", "involvedObject": {"name": "own"}})

    seen.append(next(changes))
    folder.clear_stop_request()
    seen.append(next(changes))
    folder.release()

    assert [change.type for change in seen] == ["MODIFIED", "ADDED", "MODIFIED"]
    assert phases(seen) == ["Running", "Suspended"]
