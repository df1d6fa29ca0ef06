"""The plugin for krew, by krew itself, and the chart of a release, by Helm."""

import hashlib
import os
import shutil
import subprocess
import tarfile
from pathlib import Path

import pytest
import yaml

from tests.missing import find_program
from tools.cluster.tools import HELM, KREW
from tools.release.archive import chart_archive
from tools.release.krew import manifest, plugin_archive
from tools.release.version import ROOT, VERSION

TIME = 1_700_000_000
REPOSITORY = "https://example.com/quantum/training"


def installed(folder: Path, text: str, archive: bytes) -> "subprocess.CompletedProcess[str]":
    """Installs a plugin with krew, which validates its manifest and its archive first."""
    (folder / "qtj.yaml").write_text(text)
    (folder / "plugin.tar.gz").write_bytes(archive)
    files = (f"--manifest={folder / 'qtj.yaml'}", f"--archive={folder / 'plugin.tar.gz'}")
    return subprocess.run(
        [find_program(KREW, "krew"), "install", *files],
        env={"PATH": os.environ["PATH"], "HOME": str(folder), "KREW_ROOT": str(folder / "krew")},
        capture_output=True,
        text=True,
        check=False,
        timeout=300,
    )


def wheel(folder: Path, tag: str) -> Path:
    path = folder / f"quantumtrainingjob-{VERSION}-py3-none-{tag}.whl"
    path.write_bytes(b"a wheel")
    return path


def test_krew_installs_the_plugin(tmp_path: Path) -> None:
    archive = plugin_archive([wheel(tmp_path, "any"), wheel(tmp_path, "manylinux_2_34_x86_64")], TIME)

    ended = installed(tmp_path, manifest(archive, REPOSITORY), archive)

    assert ended.returncode == 0, ended.stderr
    assert "Installed plugin: qtj" in ended.stderr
    assert os.access(tmp_path / "krew/bin/kubectl-qtj", os.X_OK)
    store = tmp_path / f"krew/store/qtj/v{VERSION}"
    names = {"LICENSE", "kubectl-qtj", "requirements.txt", f"quantumtrainingjob-{VERSION}-py3-none-any.whl"}
    assert {path.name for path in store.iterdir()} == names


@pytest.mark.parametrize(
    ("right", "wrong", "sentence"),
    [
        ("shortDescription: ", "shortDescriptions: ", "should have a short description"),
        ("kind: Plugin", "kind: Plug", 'only "Plugin" is supported'),
        (f"version: v{VERSION}", "version: newest", "failed to parse plugin version"),
        ("key: os", "key: system", 'key "system" not supported'),
    ],
)
def test_krew_refuses_a_mistake_in_the_manifest(tmp_path: Path, right: str, wrong: str, sentence: str) -> None:
    archive = plugin_archive([wheel(tmp_path, "any")], TIME)
    text = manifest(archive, REPOSITORY)
    assert right in text

    ended = installed(tmp_path, text.replace(right, wrong), archive)

    assert ended.returncode != 0
    assert sentence in ended.stderr


def test_krew_refuses_another_archive_than_that_of_the_manifest(tmp_path: Path) -> None:
    archive = plugin_archive([wheel(tmp_path, "any")], TIME)

    assert "does not match" in installed(tmp_path, manifest(archive, REPOSITORY), plugin_archive([], TIME)).stderr


def test_the_lines_of_the_manifest_are_as_short_as_krew_wants_them() -> None:
    """Krew's `validate-krew-manifest` warns above 80 and, for the short description, above 70 characters."""
    spec = yaml.safe_load(manifest(b"", REPOSITORY))["spec"]

    assert max(map(len, f"{spec['description']}\n{spec['caveats']}".splitlines())) <= 80
    assert len(spec["shortDescription"]) <= 70
    assert spec["platforms"][0]["sha256"] == hashlib.sha256(b"").hexdigest()


def test_the_plugin_says_what_it_needs(tmp_path: Path) -> None:
    script = ROOT / "deploy/krew/kubectl-qtj"
    for name in ("dirname", "readlink"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))

    ended = subprocess.run(
        ["/bin/sh", script, "--help"], env={"PATH": str(tmp_path)}, capture_output=True, text=True, check=False
    )

    assert (ended.returncode, ended.stdout) == (2, "")
    assert ended.stderr.startswith("kubectl qtj needs uv, which is not on the PATH")


def test_the_chart_of_a_release_is_what_helm_would_package(tmp_path: Path) -> None:
    archive = tmp_path / "chart.tgz"
    archive.write_bytes(chart_archive(TIME))
    helm = find_program(HELM, "helm")

    def run(*words: str | Path) -> str:
        folders = {f"HELM_{name}_HOME": str(tmp_path) for name in ("CACHE", "CONFIG", "DATA")}
        environment = {"PATH": os.environ["PATH"], "HOME": str(tmp_path), **folders}
        return subprocess.run([helm, *words], env=environment, capture_output=True, text=True, check=True).stdout

    run("package", ROOT / "deploy/helm", "--destination", tmp_path)

    with tarfile.open(tmp_path / f"qtj-operator-{VERSION}.tgz") as theirs, tarfile.open(archive) as ours:
        assert {each.name for each in ours} == {each.name for each in theirs}
        assert {each.mtime for each in ours} == {TIME}
    assert f"version: {VERSION}" in run("show", "chart", archive)
    assert "0 chart(s) failed" in run("lint", archive)
