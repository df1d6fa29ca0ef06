"""The chart has the CRDs of `crds`: in a checkout by a link, and in each archive of it the CRD itself."""

import io
import subprocess
import tarfile
from pathlib import Path

import pytest

from tools.release.archive import chart_archive
from tools.release.compatibility import CRD
from tools.release.version import ROOT

FILES = {
    "files/crd.yaml": CRD,
    "files/study-crd.yaml": CRD.with_name("quantumtrainingstudies.quantumtraining.dev.yaml"),
}


@pytest.mark.parametrize("name", FILES)
def test_the_chart_of_a_release_has_each_crd_and_no_link(name: str) -> None:
    with tarfile.open(fileobj=io.BytesIO(chart_archive(0))) as archive:
        content = archive.extractfile(f"qtj-operator/{name}")
        assert {each.type for each in archive} == {tarfile.REGTYPE}
        assert content is not None
        assert content.read() == FILES[name].read_bytes()


@pytest.mark.parametrize("name", FILES)
def test_the_link_leads_to_the_crd_where_a_commit_is_unpacked(tmp_path: Path, name: str) -> None:
    archive = subprocess.run(("git", "archive", "HEAD", "crds", "deploy"), cwd=ROOT, capture_output=True, check=True)
    with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as members:
        members.extractall(tmp_path, filter="data")

    found = tmp_path / "deploy/helm" / name
    assert found.resolve() == (tmp_path / FILES[name].relative_to(ROOT)).resolve()
