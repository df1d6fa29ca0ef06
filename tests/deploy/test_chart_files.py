"""What the chart copies is what it is a copy of."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from tools.release.version import ROOT


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for folder in ("deploy", "crds"):
        shutil.copytree(ROOT / folder, tmp_path / folder)
    return tmp_path


def files(checkout: Path, *words: str) -> str:
    """What the command said, empty when it has nothing to complain about."""
    command = [sys.executable, str(checkout / "deploy/helm/files.py"), *words]
    return subprocess.run(command, capture_output=True, text=True, check=False).stderr.strip()


def test_the_copies_of_this_checkout_are_up_to_date() -> None:
    assert files(ROOT, "--check") == ""


def test_a_changed_source_a_lost_copy_and_a_stray_file_are_found_and_repaired(checkout: Path) -> None:
    copies = checkout / "deploy/helm/files"
    (checkout / "deploy/kustomize/rbac.yaml").write_text("kind: ServiceAccount\n")
    (copies / "crd.yaml").unlink()
    (copies / "old.yaml").write_text("kind: Secret\n")

    complaint = files(checkout, "--check")
    assert complaint == "deploy/helm/files: crd.yaml, old.yaml, rbac.yaml differ from their sources: run `make chart`"
    assert files(checkout) == ""
    assert files(checkout, "--check") == ""
    assert not (copies / "old.yaml").exists()
