"""What each stage of the tests builds with Go, and what is said without it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.cluster import cli, lock, tools
from tools.cluster.shell import ClusterError


@pytest.fixture
def built(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The packages that were built, with a Go that writes empty programs."""
    found: list[str] = []

    def go(*argv: str, env: dict[str, str] | None = None, **_: object) -> str:
        if argv[1] == "install" and env:
            found.append(argv[-1])
            names = [part for part in argv[-1].split("/") if part != "v3"]
            Path(env["GOBIN"]).mkdir(parents=True)
            (Path(env["GOBIN"]) / names[-1]).touch()
        return str(Path(__file__).parent)

    monkeypatch.setenv("QTJ_CACHE", str(tmp_path))
    monkeypatch.setattr(tools, "run", go)
    monkeypatch.setattr(tools, "keep", lambda *_: None)
    return found


def test_a_stage_builds_the_programs_that_it_runs_and_no_others(built: list[str]) -> None:
    tools.build_for("trainer")
    assert [tools.label(package) for package in built] == ["fake-gcs-server"]

    tools.build_for("unit")
    assert {tools.label(package) for package in built} >= {"etcd", "kube-apiserver", "kubectl", "helm"}
    assert {tools.label(package) for package in built} & {"kubelet", "coredns", "coscheduling"} == set()

    tools.build_for("cluster")
    labels = [tools.label(package) for package in built]
    assert {"kubelet", "coredns", "coscheduling", "pause"} <= set(labels)
    assert len(labels) == len(set(labels)), "nothing is built twice"
    assert Path(tools.program(tools.KUBERNETES, "etcd")).is_file(), "which Go calls server"


def test_who_finds_all_programs_waits_for_no_other_build(built: list[str], tmp_path: Path) -> None:
    tools.build_for("trainer")

    with lock.held(tmp_path / "lock"):
        assert cli.main(["tools", "--for", "trainer"]) == 0

    assert len(built) == 1


def test_a_program_that_failed_to_be_built_is_not_taken_for_one(
    built: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*argv: str, **_: object) -> str:
        if argv[1] == "install":
            raise ClusterError("no room on the disk")
        return ""

    with monkeypatch.context() as patch:
        patch.setattr(tools, "run", broken)
        with pytest.raises(ClusterError, match="no room"):
            tools.build_for("trainer")

    tools.build_for("trainer")
    assert len(built) == 1


@pytest.mark.parametrize("name", tools.NEEDS)
def test_every_program_that_a_stage_needs_is_pinned(name: str) -> None:
    for group, programs in tools.NEEDS[name].programs.items():
        assert set(programs) <= {tools.label(package) for package in tools.packages(group)}


def test_without_go_a_stage_says_what_is_not_run(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("QTJ_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", "")

    code = cli.main(["tools", "--for", "trainer"])

    assert code == 2, "which make takes for an answer, but in CI"
    assert capsys.readouterr().err.startswith(
        "not run: the trainer's tests with an object store, because go is not on the PATH: install Go "
    )
