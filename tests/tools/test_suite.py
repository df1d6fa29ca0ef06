"""The runner of `make test` and `make test-long`, on a Makefile of its own."""

import os
import re
import shutil
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from tests import conftest
from tools.cluster.paths import REPO
from tools.suite.stages import LONG, SHARDS, TEST, Took, shard, table

MAKEFILE = """\
check test-faults test-trainer test-command long-tests long-lives long-soak long-e2e:
\t@echo $@ >> ran
test-cluster:
\t@while [ ! -e prefetched ]; do sleep 0.01; done
\t@echo $@ >> ran
prefetch:
\t@sleep 600 & echo $$! > pid; nice > draft; mv draft prefetched; wait
"""
BROKEN_GO = """\
#!/bin/sh
case "$1 $PWD" in
  env*) echo go99.0 ;;
  *addons) echo no room >&2; exit 1 ;;
  install*) mkdir -p "$GOBIN" && : > "$GOBIN/program" ;;
esac
"""
"""It builds all but the storage emulator, which is the first that is asked for."""


UNTIL_IT_FAILS = "while ! grep -q Error test-output/test-faults.log; do sleep 0.01; done; sleep 1"
"""Make writes this right before its end."""


def suite(folder: Path, *words: str, makefile: str = MAKEFILE) -> "subprocess.CompletedProcess[str]":
    (folder / "Makefile").write_text(makefile)
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MAKE")}
    command = [sys.executable, "-m", "tools.suite", *words]
    environment = {**kept, "PYTHONPATH": str(REPO)}
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False, timeout=60)


def ran(folder: Path) -> list[str]:
    return (folder / "ran").read_text().split()


def test_all_stages_run_while_tools_are_built_at_low_priority(tmp_path: Path) -> None:
    ended = suite(tmp_path, "test")

    assert ended.returncode == 0, ended.stderr
    beside = [stage.target for stage in TEST if stage.beside]
    others = [stage.target for stage in TEST if not stage.beside]
    assert [each for each in ran(tmp_path) if each not in beside] == others
    assert (tmp_path / "prefetched").read_text().strip() == "19"
    times = (tmp_path / "test-output/times.txt").read_text()
    assert ended.stdout.endswith(times)
    assert sorted(line.split()[0] for line in times.splitlines()[1:-1]) == sorted(ran(tmp_path))


def test_the_faults_run_at_low_priority_beside_the_other_stages(tmp_path: Path) -> None:
    makefile = MAKEFILE.replace("test-faults test-trainer ", "") + (
        "test-faults:\n\t@nice > priority; while [ ! -e trained ]; do sleep 0.01; done; echo $@ >> ran\n"
        "test-trainer:\n\t@while [ ! -e priority ]; do sleep 0.01; done; touch trained; echo $@ >> ran\n"
    )

    ended = suite(tmp_path, "test", makefile=makefile)

    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "priority").read_text().strip() == "19"
    assert sorted(ran(tmp_path)) == sorted(stage.target for stage in TEST)
    assert re.search(r"^  test-faults +\d+:\d+ +beside$", ended.stdout, re.MULTILINE)


def test_the_cluster_waits_for_the_faults(tmp_path: Path) -> None:
    makefile = MAKEFILE.replace("test-faults ", "") + "test-faults:\n\t@sleep 1; echo $@ >> ran\n"

    suite(tmp_path, "test", makefile=makefile)

    assert ran(tmp_path)[-2:] == ["test-faults", "test-cluster"]


def test_a_stage_that_fails_beside_the_others_fails_all_with_its_words(tmp_path: Path) -> None:
    makefile = MAKEFILE.replace("test-faults test-trainer ", "") + (
        f"test-faults:\n\t@echo FAIL a gang; exit 3\ntest-trainer:\n\t@{UNTIL_IT_FAILS}; echo $@ >> ran\n"
    )

    ended = suite(tmp_path, "test", makefile=makefile)

    assert ended.returncode == 2
    assert ran(tmp_path) == ["check", "test-trainer"]
    assert "\nFAIL a gang\n" in ended.stdout
    assert re.search(r"^  test-faults +0:00 beside  failed$", ended.stdout, re.MULTILINE)


def test_a_stage_that_has_failed_beside_another_one_that_fails_is_in_the_table(tmp_path: Path) -> None:
    makefile = MAKEFILE.replace("test-faults test-trainer ", "") + (
        f"test-faults:\n\t@echo FAIL a gang; exit 3\ntest-trainer:\n\t@{UNTIL_IT_FAILS}; exit 3\n"
    )

    ended = suite(tmp_path, "test", makefile=makefile)

    assert "\nFAIL a gang\n" in ended.stdout
    assert len(re.findall(r"failed$", ended.stdout, re.MULTILINE)) == 2


def test_no_build_outlives_the_stages(tmp_path: Path) -> None:
    suite(tmp_path, "test")

    builder = Path("/proc") / (tmp_path / "pid").read_text().strip()
    deadline = time.monotonic() + 60
    while builder.exists() and "sleep" in (builder / "comm").read_text():
        assert time.monotonic() < deadline, "the builder still runs"
        time.sleep(0.01)


def test_the_first_stage_that_fails_is_the_last(tmp_path: Path) -> None:
    failing = MAKEFILE.replace("check ", "") + "check:\n\t@exit 3\n"

    ended = suite(tmp_path, "test", makefile=failing)

    assert ended.returncode == 2, "as make says that a target failed"
    assert not (tmp_path / "ran").exists()
    assert re.search(r"^  check +0:00 +\d+%  failed$", ended.stdout, re.MULTILINE)


def test_a_shard_runs_its_own_stages_and_says_its_budget(tmp_path: Path) -> None:
    ended = suite(tmp_path, "long", "--shard", f"2/{SHARDS}")

    assert ended.returncode == 0, ended.stderr
    assert ran(tmp_path) == [stage.target for stage in LONG if stage.shard == 2]
    assert ended.stdout.startswith("1 of 2 shards, of at most 150 minutes each\n")


def test_every_long_stage_is_in_one_shard() -> None:
    parts = [shard(f"{number}/{SHARDS}") for number in range(1, SHARDS + 1)]

    assert [stage for part in parts for stage in part] == list(LONG) == list(shard(""))
    assert all(parts)


def test_a_shard_that_does_not_exist_is_a_sentence(tmp_path: Path) -> None:
    ended = suite(tmp_path, "long", "--shard", "3/2")

    assert ended.returncode == 2
    assert ended.stderr.endswith("there is no shard 3/2: write SHARD=1/2 or SHARD=2/2\n")


@pytest.mark.parametrize(("seconds", "warned"), [(2400, False), (2401, True)])
def test_more_than_the_limit_is_a_warning(seconds: float, warned: bool) -> None:
    text = table([Took("check", 125.4, passed=True, busy=0.57), Took("test-faults", seconds - 125.4, passed=True)], 40)

    assert "  check             2:05    57%\n" in text
    assert ("warning: this took more than 40 minutes" in text) == warned


def test_the_makefile_has_every_stage_and_the_folders_of_check() -> None:
    makefile = (REPO / "Makefile").read_text()
    (core,) = re.findall(r"^CORE := (.*)$", makefile, re.MULTILINE)

    assert [each for each in (*TEST, *LONG) if not re.search(rf"^{each.target}:", makefile, re.MULTILINE)] == []
    assert {Path(folder).name for folder in core.split()} == conftest.CORE


def test_a_skipped_test_is_named_with_its_reason(tmp_path: Path) -> None:
    test = """
        import pytest
        @pytest.mark.parametrize("way", ["a/b"])
        def test_it(way): pytest.skip("there is no rocket")
    """
    (tmp_path / "moon").mkdir()
    (tmp_path / "moon/test_it.py").write_text(textwrap.dedent(test))
    (tmp_path / "conftest.py").write_text("from tests.conftest import pytest_terminal_summary\n")
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path)]

    environment = {**os.environ, "PYTHONPATH": str(REPO)}
    ended = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False)

    assert "not run: 1 test of moon, because there is no rocket" in ended.stdout, ended.stdout + ended.stderr


@pytest.mark.parametrize(("go", "ci", "code"), [("1", "", 2), ("1", "true", 2), ("none", "", 0), ("none", "true", 2)])
def test_only_a_machine_without_go_goes_on_without_its_programs(tmp_path: Path, go: str, ci: str, code: int) -> None:
    """And a build that fails is a failure of the stage, with the words of the builder."""
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("bash", "env", "mkdir", "sh"):
        (programs / name).symlink_to(f"/bin/{name}")
    if go == "1":
        (programs / "go").write_text(BROKEN_GO)
        (programs / "go").chmod(0o755)
    (line,) = re.findall(r"^PROGRAMS = .*$", (REPO / "Makefile").read_text(), re.MULTILINE)
    (tmp_path / "Makefile").write_text(
        f"SHELL := bash\nCLUSTER := {sys.executable} -m tools.cluster\n{line}\n"
        "all:\n\t@for stage in trainer unit; do $(call PROGRAMS,$$stage); done\n\t@echo tested\n"
    )
    make = shutil.which("make")
    assert make

    ended = subprocess.run(
        [make],
        cwd=tmp_path,
        env={"PATH": str(programs), "CI": ci, "QTJ_CACHE": str(tmp_path / "cache"), "PYTHONPATH": str(REPO)},
        capture_output=True,
        text=True,
        check=False,
        timeout=60,
    )

    assert ended.returncode == code, ended.stderr
    assert ("tested" in ended.stdout) == (code == 0)
    assert ("no room" if go == "1" else "not run: the trainer's tests with an object store") in ended.stderr
