"""Two builds of an image for a release have one digest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tests.cluster.oci import Layout

REPO = Path(__file__).parents[2]
TIME = 1_700_000_000


def exported(folder: Path, name: str) -> str:
    """Builds an image from nothing; returns its digest."""
    command = (sys.executable, "-m", "tests.cluster", "export", folder, name, "--time", str(TIME))
    ended = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    (image,) = Layout(folder).index()
    return str(image["digest"])


@pytest.mark.slow
@pytest.mark.parametrize("name", ["operator", "trainer"])
def test_an_image_of_a_release_has_the_same_digest_again(tmp_path: Path, name: str) -> None:
    if os.getuid() != 0 or not shutil.which("buildah"):
        pytest.skip("images are built as root, with buildah")

    first = exported(tmp_path / "first", name)

    assert exported(tmp_path / "second", name) == first
    layout = Layout(tmp_path / "first")
    manifest, config, *layers = layout.blobs_of(layout.index()[0])
    assert manifest == first
    assert len(layers) >= 3
    assert json.loads(layout.blob(config).read_text())["created"] == "2023-11-14T22:13:20Z"


def test_an_image_without_a_dockerfile_is_a_sentence(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tests.cluster", "export", tmp_path, "pause", "--time", "0")

    ended = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert "there is no Dockerfile.pause: choose from operator, trainer" in ended.stderr
