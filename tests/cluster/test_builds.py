"""What a build of our images sees of this machine and of the checkout."""

from __future__ import annotations

from pathlib import Path

import pytest

from tools.cluster import buildah, images

REPO = Path(__file__).parents[2]
DOCKERFILES = sorted(REPO.glob("Dockerfile.*"))


def test_the_stages_of_a_build_find_the_packages_that_the_base_was_made_of(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QTJ_CACHE", str(tmp_path))
    base = tmp_path / "images" / f"base-{buildah.base_key()}"
    base.mkdir(parents=True)
    (base / "sources.list").touch()

    assert f"--volume={base}/sources.list:/etc/apt/sources.list:ro" in buildah.host_files()


def test_a_library_of_the_checkout_is_no_part_of_an_image(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "trainer").mkdir()
    for name in ("engine.c", "libqtj_fused.so", "engine.pyc"):
        (tmp_path / "trainer" / name).touch()
    monkeypatch.setattr(images, "REPO", tmp_path)

    assert images.source_files() == [tmp_path / "trainer" / "engine.c"]
    assert "**/*.so" in (REPO / ".dockerignore").read_text().splitlines()


@pytest.mark.parametrize("path", DOCKERFILES, ids=lambda path: path.name)
def test_no_image_has_a_compiler_pip_or_the_command(path: Path) -> None:
    *stages, image = path.read_text().split("\nFROM ")

    assert stages
    assert not [word for word in ("apt-get", "pip", "RUN") if word in image]
    assert "operator/qtj " not in path.read_text()


def test_a_change_of_what_an_image_does_without_builds_its_dependencies_anew() -> None:
    assert REPO / "image" / "slim.py" in buildah.Recipe("trainer").slow_inputs


def test_layers_of_a_release_build_that_was_killed_are_discarded(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("QTJ_CACHE", str(tmp_path))
    recipe = buildah.Recipe("operator", 1_700_000_000)
    recipe.storage.mkdir(parents=True)
    kept = buildah.Recipe("operator").storage
    kept.mkdir()

    buildah.discard(recipe)

    assert (recipe.storage.exists(), kept.exists()) == (False, True)
