"""What is not installed is named, with the command that installs it; `qtj doctor` finds it, and whatever is broken."""

import json
import os
import re
import shlex
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

from qtj.doctor import machine, software
from qtj.doctor.doctor import run_doctor
from qtj.doctor.finding import Finding, Level, run_check
from qtj.local.extras import EXTRAS, install_command, missing
from qtj_contract.control_groups import usable_processors
from tests.cli.qtj import qtj
from tests.local.laptop import QTJ

REPOSITORY = Path(__file__).parents[2]
ABSENT = """
import sys

class Absent:
    def find_spec(self, name, *_):
        if name.partition(".")[0] in {"aiohttp", "kopf", "kubernetes", "pythonjsonlogger", "qtj_trainer"}:
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)

sys.meta_path.insert(0, Absent())
"""
BARE = f"{ABSENT}\nfrom qtj import app\napp(prog_name='qtj')"
ONE_BY_ONE = f"""{ABSENT}
from typer.testing import CliRunner
from qtj.commands.main import app
for words in sys.argv[1:]:
    ended = CliRunner().invoke(app, words.split())
    crashed = ended.exception and not isinstance(ended.exception, SystemExit)
    print(f"{{words}}: {{ended.stderr}}", f"Traceback: {{ended.exception!r}}" if crashed else "")
"""


def bare_qtj(*arguments: str) -> subprocess.CompletedProcess[str]:
    """Runs `qtj` where neither the libraries of the operator nor the trainer are installed."""
    return subprocess.run(
        [sys.executable, "-c", BARE, *arguments], capture_output=True, text=True, check=False, env={**os.environ}
    )


@pytest.mark.parametrize("arguments", [("operator", "--port", "0"), ("retry", "qcnn")])
def test_a_command_of_the_operator_names_its_extra_and_how_to_install_it(arguments: tuple[str, ...]) -> None:
    ended = bare_qtj(*arguments)

    assert ended.returncode == 2
    assert re.fullmatch(
        rf"qtj: qtj {arguments[0]} needs the extra operator, and there is no \w+: "
        r"pip install .*qtj_operator\[cluster\]'.*\n",
        ended.stderr,
    )


def test_help_and_validation_need_no_extra() -> None:
    helped, validated = bare_qtj("operator", "-h"), bare_qtj("validate", str(REPOSITORY / "examples/qcnn.yaml"))

    assert (helped.returncode, validated.returncode) == (0, 0), helped.stderr + validated.stderr


def test_what_is_about_this_machine_needs_no_extra(folder: Path) -> None:
    commands = [
        "report mine", "report mine other", "report --scaling mine other", "report", "status mine", "logs mine",
        "events mine", "top", "list", "prune", "attach mine", "profile mine", "stop mine", "retry qcnn",
    ]  # fmt: skip

    told = subprocess.run(
        [sys.executable, "-c", ONE_BY_ONE, *commands], capture_output=True, text=True, check=True, cwd=folder
    ).stdout

    assert all(f"{command}: " in told for command in commands)
    assert told.count("extra") == 1, "of the last one, which is about a cluster"
    assert "Traceback" not in told


def test_a_plan_reads_the_limits_of_this_machine_without_the_trainer() -> None:
    planned = bare_qtj("plan", str(REPOSITORY / "examples/qcnn.yaml"))

    assert planned.returncode == 0, planned.stderr
    assert "at least" in planned.stdout


def test_nothing_of_an_extra_is_missing_where_all_is_installed() -> None:
    assert {extra: missing(extra) for extra in EXTRAS} == {"trainer": [], "operator": []}


def test_an_extra_is_installed_from_a_checkout_for_it_is_published_nowhere() -> None:
    ours = ("operator/qtj_contract", "operator/qtj_report", "trainer/qtj_simulator", "trainer/qtj_trainer[tensorflow]")
    command = shlex.split(install_command("trainer"))
    assert command[:2] == ["pip", "install"]
    assert all(path.endswith(f"/{each}") for path, each in zip(command[2:], ours, strict=True))


def group(folder: Path, cpus: int) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "cpu.max").write_text(f"{cpus * 100_000} 100000\n")


def test_the_least_limit_of_the_groups_above_a_process_counts(tmp_path: Path) -> None:
    group(tmp_path / "user.slice", 4)
    group(tmp_path / "user.slice/shell.scope", 1)
    own = tmp_path / "own"
    own.write_text("0::/user.slice/shell.scope\n")

    assert usable_processors(tmp_path, own) == 1


def test_a_look_that_fails_is_a_finding_and_no_traceback() -> None:
    def broken() -> Finding:
        raise RuntimeError("two\nlines")

    assert str(run_check("engine", broken)) == ("warning  engine      it cannot be checked (RuntimeError: two lines)")


@pytest.mark.parametrize(
    ("name", "prepared", "level"),
    [("folder", "there", Level.OK), ("folder", "gone", Level.WARNING), ("TMPDIR", "there", Level.OK)],
)
def test_a_folder_is_written_to_before_it_is_called_fine(folder: Path, name: str, prepared: str, level: Level) -> None:
    (folder / "here").mkdir()
    os.chdir(folder / "here")
    if prepared == "gone":
        (folder / "here").rmdir()

    assert run_check(name, machine.CHECKS[name]).level == level


def test_artifacts_are_tried_by_an_object_that_goes_again(folder: Path) -> None:
    (folder / "file").write_text("")

    fine, wrong = software.artifacts("artifacts"), software.artifacts("file/below")

    assert (fine.level, wrong.level) == (Level.OK, Level.MISSING)
    assert "cannot write artifacts to" in wrong.message
    assert [path.name for path in folder.iterdir()] == ["file"]


@pytest.mark.parametrize("address", ["gs:/bucket/runs", "s3://bucket/runs", "gs://B", ""])
def test_an_address_that_a_run_refuses_is_refused_before_anything_is_checked(
    monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setattr("qtj.doctor.doctor.run_doctor", lambda *_: pytest.fail("checked"))

    ended = qtj("doctor", f"--artifacts={address}")

    assert (ended.code, len(ended.sentences)) == (2, 1)
    assert ended.sentences[0].startswith(f"--artifacts {address or 'is empty'}")


@pytest.mark.parametrize(("has_trainer", "level"), [(True, Level.WARNING), (False, Level.MISSING)])
def test_who_trains_in_another_framework_lacks_nothing(
    monkeypatch: pytest.MonkeyPatch, has_trainer: bool, level: Level
) -> None:
    monkeypatch.setattr(software, "missing", lambda _: ["tensorflow"])
    monkeypatch.setattr(software, "find_spec", lambda _: object() if has_trainer else None)

    finding = run_check("[trainer]", software.CHECKS["[trainer]"])

    assert (finding.level, "tensorflow, needed to train the project's own models" in finding.message) == (level, True)


def test_tensorflow_without_tensorflow_quantum_is_reported_by_the_check_of_extras_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(software, "find_spec", lambda module: None if module == "tensorflow_quantum" else object())

    finding = run_check("TensorFlow", software.CHECKS["TensorFlow"])

    assert (finding.level, finding.message) == (Level.WARNING, "not checked, without the extra trainer")


def test_an_import_that_takes_too_long_is_not_called_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "IMPORT_SECONDS", 0.01)

    finding = run_check("TensorFlow", software.CHECKS["TensorFlow"])

    assert (finding.level, finding.message) == (Level.WARNING, "not checked: no answer within 0 s")
    assert "install" not in finding.remedy


def test_artifacts_that_do_not_answer_are_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(software, "WRITE_SECONDS", 0.01)

    finding = software.artifacts("artifacts")

    assert (finding.level, finding.message) == (Level.MISSING, "artifacts cannot be written to (no answer within 0 s)")


def test_an_engine_that_was_not_built_is_named_in_plain_words(monkeypatch: pytest.MonkeyPatch) -> None:
    lost = software.ENGINE.replace("library()", "library(FILE.with_name('lost.so'))")
    monkeypatch.setattr(software, "ENGINE", lost)
    monkeypatch.setattr(software, "IMPORT_SECONDS", 600.0)  # on a busy machine, the imports take minutes

    line = str(run_check("engine", software.CHECKS["engine"]))

    assert "the fused engine cannot be loaded: its native library is missing: install a wheel, or run" in line
    assert (line.count("fused.build"), "UnsupportedError" in line) == (1, False)


@pytest.mark.parametrize(("level", "code"), [(Level.OK, 0), (Level.WARNING, 0), (Level.MISSING, 1)])
def test_only_what_a_run_needs_makes_it_fail(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], level: Level, code: int
) -> None:
    finding = Finding("Python", level, "3.9", "install another")
    monkeypatch.setattr(machine, "CHECKS", {"Python": lambda: replace(finding, level=Level.OK)})
    monkeypatch.setattr(software, "CHECKS", {"another": lambda: finding})
    monkeypatch.setattr("qtj.doctor.cluster.cluster", lambda: replace(finding, level=Level.OK))

    ended = run_doctor(None, None)

    assert ended == code
    assert capsys.readouterr().out.splitlines()[1] == f"{level:<8} Python      3.9: install another"


def test_a_cluster_that_does_not_answer_is_given_up(folder: Path) -> None:
    """All of it, as a user sees it: with a kubeconfig whose address swallows what is sent there."""
    (folder / "config").write_text(
        "{apiVersion: v1, kind: Config, current-context: a, contexts: [{name: a, context: {cluster: a, user: a}}],"
        " clusters: [{name: a, cluster: {server: 'https://192.0.2.1'}}], users: [{name: a, user: {}}]}"
    )
    ended = subprocess.run(
        [*QTJ, "doctor", "-o", "json"],
        env={**os.environ, "KUBECONFIG": str(folder / "config")},
        capture_output=True,
        text=True,
        check=False,
    )
    findings = {each["check"]: each for each in json.loads(ended.stdout)["items"]}

    assert ended.returncode == 0, ended.stdout
    assert findings["cluster"]["level"] == "warning"
    assert findings["cluster"]["message"].startswith("the API server cannot be reached (")
    assert findings["TensorFlow"]["level"] == "ok"
    assert ended.stderr == ""
