"""The TAB key, in real shells: a line is completed as `qtj completion` and the documentation promise, and soon."""

import sys
import time
from pathlib import Path

import pytest

from qtj.commands.names import namespaces
from tests.cli.shells import PROMPT, Home, needed, screen

FISH = "source (qtj completion fish | psub); for line in $argv; complete --do-complete $line; echo; end"
ASKED = "qtj.cluster.connection.on_cluster"
"""What asks the cluster."""


@pytest.fixture
def home(tmp_path: Path) -> Home:
    """The home of a user with a run, of which two replicas have a log, and with a file."""
    folder = tmp_path / "home/qtj-artifacts/spinchain/1"
    (folder / "logs").mkdir(parents=True)
    (folder / ".qtj-run").touch()
    (folder / "job.json").write_text('{"metadata": {"name": "spinchain"}}')
    for log in ("worker-0.1", "worker-0.2", "worker-1.1"):
        (folder / "logs" / f"spinchain-{log}.log").touch()
    (tmp_path / "home/ising.yaml").touch()
    return Home.made(tmp_path / "home")


LINES = [("qtj stat", "us "), ("qtj status spi", "nchain"), ("qtj run --fr", "esh "), ("qtj run isi", "ng.yaml ")]


@pytest.mark.parametrize(("typed", "whole"), LINES)
def test_bash_completes_commands_options_runs_and_files(home: Home, typed: str, whole: str) -> None:
    with screen(home, needed("bash"), "--norc", "-i") as shown:
        shown.types('eval "$(qtj completion bash)"\n')
        shown.until(PROMPT)
        shown.types(f"{typed}\t")

        shown.until(f"{typed}{whole}")


@pytest.mark.parametrize(("typed", "whole"), LINES[::3])
def test_zsh_completes_commands_and_files(home: Home, typed: str, whole: str) -> None:
    """With the script in a folder of functions, as its documentation has it."""
    (home.path / ".zfunc").mkdir()
    (home.path / ".zfunc/_qtj").write_text(home.run("qtj", "completion", "zsh").stdout)
    (home.path / ".zshrc").write_text(f"PS1='{PROMPT}'\nfpath=(~/.zfunc $fpath)\nautoload -Uz compinit\ncompinit -u\n")

    with screen(home, needed("zsh"), "--no-globalrcs", "-i") as shown:
        shown.types(f"{typed}\t")

        shown.until(f"{typed}{whole}")


OFFERS = {
    "qtj stat": ["status"],
    "qtj status ": ["spinchain", "spinchain/1"],
    "qtj list ": ["spinchain"],
    "qtj logs spinchain ": ["worker-0", "worker-1"],
    "qtj run --art": ["--artifacts"],
    "qtj run isi": ["ising.yaml"],
    "qtj plan --output ": ["json", "name", "yaml"],
    "qtj init k": ["keras"],
    "qtj completion ": ["bash", "fish", "zsh"],
}


def test_fish_completes_commands_options_runs_replicas_kinds_and_files(home: Home) -> None:
    ended = home.run(needed("fish"), "--no-config", "--command", FISH, *OFFERS)

    assert (ended.returncode, ended.stderr) == (0, "")
    offers = [[offer.partition("\t")[0] for offer in each.splitlines()] for each in ended.stdout.split("\n\n")]
    assert dict(zip(OFFERS, offers, strict=False)) == OFFERS, "without the descriptions"


def test_the_help_of_an_option_stays_on_one_line_in_a_narrow_terminal(home: Home) -> None:
    asked = {"_QTJ_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args", "COLUMNS": "20"}

    offered = home.run("qtj", **asked, _TYPER_COMPLETE_ARGS="qtj run --artifacts").stdout

    assert offered.count("\n") == 1
    assert offered.endswith(" a folder, file:///PATH or gs://BUCKET/PATH.\n")


@pytest.mark.parametrize("line", ["qtj frobnicate x", "qtj logs no/such/run ", "qtj status --cluster "])
def test_what_cannot_be_completed_has_neither_an_offer_nor_a_message(home: Home, line: str) -> None:
    asked = {"_QTJ_COMPLETE": "complete_fish", "_TYPER_COMPLETE_FISH_ACTION": "get-args"}

    ended = home.run("qtj", **asked, _TYPER_COMPLETE_ARGS=line)

    assert (ended.stdout.strip(), ended.stderr) == ("", "")


BLOCKED = """
import concurrent.futures, os, time
from qtj.commands.answer import answer

def run():
    concurrent.futures.ThreadPoolExecutor().submit(time.sleep, 600)  # as a resolver that does not answer
    os.write(2, b"open your browser")
    print(os.read(0, 1), flush=True)
    raise SystemExit(3)

answer(run, bool)
"""


def test_an_answer_waits_for_no_thread_and_lets_nothing_else_write_or_read(home: Home) -> None:
    ended = home.run(sys.executable, "-c", BLOCKED, _QTJ_COMPLETE="complete_bash")

    assert (ended.returncode, ended.stdout, ended.stderr) == (3, "b''\n", "")


@pytest.mark.parametrize("written", ["soon", "nan", "inf", "-1", "0", "1e9", ""])
def test_a_limit_that_is_no_time_counts_as_not_set(monkeypatch: pytest.MonkeyPatch, written: str) -> None:
    monkeypatch.setenv("QTJ_COMPLETION_SECONDS", written)
    monkeypatch.setattr(ASKED, lambda _ask, _namespace: ["lab"])

    assert namespaces("") == ["lab"]


def test_a_cluster_that_does_not_answer_has_no_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("QTJ_COMPLETION_SECONDS", "0.01")

    def ask(_ask: object, _namespace: object) -> list[str]:
        time.sleep(60)
        return ["lab"]

    monkeypatch.setattr(ASKED, ask)

    assert namespaces("") == []
