"""Two builds of an image for a release have one digest."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

from tools.cluster.oci import Layout

REPO = Path(__file__).parents[2]
TIME = 1_700_000_000


def exported(name: str) -> tuple[str, str, int]:
    """Builds an image from nothing; returns its digest, its time and the number of its layers."""
    with TemporaryDirectory() as folder:  # gigabytes, which pytest would keep
        command = (sys.executable, "-m", "tools.cluster", "export", folder, name, "--time", str(TIME))
        ended = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)
        assert ended.returncode == 0, ended.stderr
        layout = Layout(Path(folder))
        (image,) = layout.index()
        manifest, config, *layers = layout.blobs_of(image)
        return manifest, json.loads(layout.blob(config).read_text())["created"], len(layers)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "layers"), [("operator", 3), ("trainer", 4)])
def test_an_image_of_a_release_has_the_same_digest_again(name: str, layers: int) -> None:
    if os.getuid() != 0 or not shutil.which("buildah"):
        pytest.skip("images are built as root, with buildah")

    first = exported(name)

    assert first[1:] == ("2023-11-14T22:13:20Z", layers)
    assert exported(name) == first


def test_an_image_without_a_dockerfile_is_a_sentence(tmp_path: Path) -> None:
    command = (sys.executable, "-m", "tools.cluster", "export", tmp_path, "pause", "--time", "0")

    ended = subprocess.run(command, cwd=REPO, capture_output=True, text=True, check=False)

    assert ended.returncode == 2
    assert "there is no Dockerfile.pause: choose from operator, trainer" in ended.stderr
