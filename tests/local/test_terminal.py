"""`qtj run` on a real terminal: narrow, resized, without colours, in a poor encoding, and gone."""

import json
import re

import pytest

from tools.background import wait_until

from .laptop import ENDLESS, Laptop, toy_job
from .terminal import Screen, Terminal, start_on


def shown(laptop: Laptop, terminal: Terminal, **environment: str) -> Screen:
    """Runs job.yaml to its end, and returns the screen that it leaves."""
    code = start_on(terminal, laptop, "run", "job.yaml", **environment).wait(100)
    screen = terminal.screen()
    assert (code, screen.unknown, "Traceback" in "".join(screen.lines)) == (0, set(), False), screen.lines
    return screen


def rows(screen: Screen) -> list[str]:
    """The last state of the rows of the jobs."""
    return [line for line in screen.lines if re.match(r" {3,}\d+\.\d s  \S+  complete", line)]


def test_ten_jobs_on_40_columns_have_a_row_each_that_is_no_wider(laptop: Laptop, terminal: Terminal) -> None:
    terminal.resize(40)
    laptop.write(*(toy_job(2, name=f"toy-{number}-of-a-family", workers=1) for number in range(10)))

    screen = shown(laptop, terminal)

    assert len(rows(screen)) == 10
    assert max(map(len, screen.lines)) <= 40
    assert "toy-3-of-…" in "".join(rows(screen))


def test_the_end_is_told_once_and_the_row_says_no_more_than_is_so(laptop: Laptop, terminal: Terminal) -> None:
    laptop.write(toy_job())

    screen = shown(laptop, terminal)

    text = "\n".join(screen.lines)
    assert text.count("inference is done: mse 0.5") == 1
    assert [re.sub(r"^ +[\d.]+ s|━", "", row).split() for row in rows(screen)] == [
        ["toy", "complete", "epoch", "3/3", "loss", "0.3333"]
    ]
    assert "ready 0/2" not in text


def test_a_terminal_that_becomes_narrow_gets_narrow_rows(laptop: Laptop, terminal: Terminal) -> None:
    terminal.resize(120)
    laptop.write(toy_job(ENDLESS))
    running = start_on(terminal, laptop, "run", "job.yaml")
    wait_until(lambda: b"training" in terminal.written)

    terminal.resize(40)
    before = len(terminal.written)
    wait_until(lambda: len(terminal.written) > before + 2000)
    running.terminate()
    running.wait(60)

    drawn = re.split(r"\x1b\[2K", terminal.written[before + 1000 :].decode())
    plain = [re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", piece).partition("\r")[0].partition("\n")[0] for piece in drawn[1:]]
    assert max(len(row.rstrip()) for row in plain if "training" in row) <= 40


@pytest.mark.parametrize(
    "environment",
    [
        {"PYTHONIOENCODING": "ascii"},
        {"LC_ALL": "C", "PYTHONCOERCECLOCALE": "0", "PYTHONUTF8": "0"},
        {"TERM": "dumb"},
        {"NO_COLOR": "1"},
    ],
    ids=lambda environment: next(iter(environment)),
)
def test_a_poor_terminal_shows_a_run_to_its_end(
    environment: dict[str, str], laptop: Laptop, terminal: Terminal
) -> None:
    laptop.write(toy_job())

    screen = shown(laptop, terminal, **environment)

    assert any("toy is Complete: inference is done: mse 0.5" in line for line in screen.lines)
    if "NO_COLOR" in environment:
        assert not re.search(rb"\x1b\[[0-9;]*3[0-9]m", terminal.written)
    if "TERM" in environment:
        assert b"\x1b" not in terminal.written


def test_lines_without_a_terminal_are_few_however_fast_the_epochs(laptop: Laptop) -> None:
    laptop.write(toy_job(40))

    ended = laptop.qtj("run", "job.yaml")

    lines = [line[11:] for line in ended.output.splitlines()]
    assert ended.code == 0, ended.errors
    assert sum(line.startswith("toy  epoch") for line in lines) <= 1
    assert sum("inference is done" in line for line in lines) == 1
    assert [line for line in lines if line in {"toy  starting", "toy  running", "toy  training"}] == [
        "toy  starting", "toy  running", "toy  training",
    ]  # fmt: skip


def test_a_log_keeps_its_colours_on_a_terminal_and_everything_elsewhere(laptop: Laptop, terminal: Terminal) -> None:
    written = "\x1b[31mred\x1b[0m \x1b]0;owned\x07\b."
    job = toy_job(workers=1)
    del job["spec"]["inference"]
    job["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python", "-c", f"print({written!r})"], "args": []}
    laptop.write(job)
    laptop.qtj("run", "job.yaml")

    raw = laptop.qtj("logs", "toy", "worker-0").output
    code = start_on(terminal, laptop, "logs", "toy", "worker-0").wait(60)
    wait_until(lambda: terminal.written.endswith(b"\n"))

    assert (code, raw) == (0, f"{written}\n")
    assert terminal.written == b"\x1b[31mred\x1b[0m  .\r\n"


def test_a_run_with_a_damaged_record_is_shown_as_far_as_it_can_be_read(laptop: Laptop) -> None:
    laptop.write(toy_job())
    laptop.qtj("run", "job.yaml")
    path = laptop.artifacts() / "job.json"
    record = json.loads(path.read_text())
    record["status"] |= {"progress": {"epoch": "many", "loss": []}, "ready": 7}
    path.write_text(json.dumps(record))

    ended = laptop.qtj("attach", "toy")

    assert (ended.code, ended.errors) == (0, "")
    assert ended.output.count("inference is done: mse 0.5") == 1


def test_a_failed_job_shows_what_was_raised_and_where_the_log_is(laptop: Laptop) -> None:
    job = toy_job()
    program = "for i in range(20): print('line', i)\nraise ValueError('one\\ntwo :x:')"
    job["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python", "-c", program], "args": []}
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 1
    assert re.search(r"toy-worker-\d raised ValueError; the end of its log, /.*\.1\.log\n", ended.output)
    assert "  | ValueError: one\n  | two :x:\n" in ended.output
    assert "line 9\n" not in ended.output
