"""The program of the init container that installs requirements, with a real pip and an index on this machine.

Its Python has no pip, as that of the trainer's image: the pip of another one installs for it.
"""

import ast
import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from qtj_operator.api.installer import INSTALLER
from qtj_operator.api.requirements import REQUIREMENTS_FOLDER, Requirements, with_requirements
from tests.jobs import a_container, a_template
from tests.missing import skip_or_fail
from tests.wheels import index_of, sha256, wheel

WHEELS = dict(
    [
        wheel("tiny", "1.0"),
        wheel("base", "1.0"),
        wheel("base", "2.0"),
        wheel("below", "1.0", "base<2"),
        wheel("above", "1.0", "base>=1"),
    ]
)
BASE = WHEELS["base-2.0-py3-none-any.whl"]
HASH = f" --hash=sha256:{sha256(WHEELS['tiny-1.0-py3-none-any.whl'])}"
ABOVE = f" --hash=sha256:{sha256(WHEELS['above-1.0-py3-none-any.whl'])}"
SAYS = "spec.program.requirements cannot be installed: "


@dataclass(frozen=True)
class Installed:
    """What an installation has left."""

    code: int
    said: str
    error: str
    site: Path

    def imported(self, python: str, statement: str) -> str:
        """What the main container's Python prints, with the packages on its path."""
        environment = {**os.environ, "PYTHONPATH": str(self.site)}
        command = [python, "-c", statement]
        return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A Python without pip that has one package, `base` 2.0."""
    if shutil.which("pip") is None:
        skip_or_fail("there is no pip: install it, for example as python3-pip")
    folder = tmp_path_factory.mktemp("image")
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", folder], check=True)
    (site,) = folder.glob("lib/python*/site-packages")
    shutil.unpack_archive(_stored(folder, "base.zip", BASE), site)
    return str(folder / "bin/python")


@pytest.fixture(scope="module")
def index() -> Iterator[str]:
    with index_of(WHEELS) as address:
        yield address


def _stored(folder: Path, name: str, content: bytes) -> Path:
    path = folder / name
    path.write_bytes(content)
    return path


def install(python: str, folder: Path, **requirements: Any) -> Installed:
    """Runs what the init container of a pod runs, as its kubelet would; the folder of the program is beside."""
    pod = a_template(a_container())["spec"]
    made = with_requirements(pod, "trainer", Requirements.read(requirements), str(folder.parent))
    (container,) = made["initContainers"]
    folder.mkdir(exist_ok=True)
    words = [str(folder), *container["args"][1:]]
    assert container["args"][0] == REQUIREMENTS_FOLDER
    log = folder.with_suffix(".log")
    own = {name: value for name, value in os.environ.items() if not name.startswith("PIP_")}
    environment = {**own, "QTJ_TERMINATION_LOG": str(log), "PIP_CONFIG_FILE": os.devnull, "PIP_RETRIES": "1"}
    command = [python, *container["command"][1:], *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, timeout=300)
    error = json.loads(log.read_text())["error"] if log.exists() else ""
    return Installed(done.returncode, done.stdout + done.stderr, error, folder / "site")


def test_it_needs_no_newer_python_than_images_have() -> None:
    ast.parse(INSTALLER, feature_version=(3, 8))


def test_a_package_with_its_hash_is_installed_and_imported(image: str, index: str, tmp_path: Path) -> None:
    done = install(image, tmp_path / "r", packages=[f"tiny==1.0{HASH}"], index=index)

    assert (done.code, done.error) == (0, ""), done.said
    assert done.imported(image, "import tiny; print(tiny.VERSION)") == "1.0"
    assert [each.name for each in (tmp_path / "r").iterdir()] == ["site"], "nothing else is left"


def test_what_the_image_has_is_not_installed_again(image: str, index: str, tmp_path: Path) -> None:
    done = install(image, tmp_path / "r", packages=[f"above==1.0{ABOVE}"], index=index)

    assert done.code == 0, done.said
    assert not (done.site / "base.py").exists()
    assert done.imported(image, "import above, base; print(base.VERSION)") == "2.0"


def test_a_pod_that_starts_over_installs_anew(image: str, index: str, tmp_path: Path) -> None:
    install(image, tmp_path / "r", packages=["above"], index=index, hashes="Optional")

    done = install(image, tmp_path / "r", packages=["tiny"], index=index, hashes="Optional")

    assert done.code == 0, done.said
    assert ((done.site / "tiny.py").exists(), (done.site / "above.py").exists()) == (True, False)


@pytest.mark.parametrize(
    ("requirements", "sentence"),
    [
        (
            {"packages": [f"tiny==1.0 --hash=sha256:{'0' * 64}"]},
            "what was downloaded has another hash than the requirements say: tiny==1.0 from ",
        ),
        (
            {"packages": ["tiny==9.9"], "hashes": "Optional"},
            "Could not find a version that satisfies the requirement tiny==9.9 (from versions: 1.0)",
        ),
        pytest.param(
            {"packages": ["nosuch"], "hashes": "Optional"},
            "Could not find a version that satisfies the requirement nosuch (from versions: none)",
            marks=pytest.mark.slow,
        ),
        (
            {"packages": ["below"], "hashes": "Optional"},
            "they contradict each other or the image: below 1.0 depends on base<2, and the image has base==2.0",
        ),
        (
            {"packages": ["base==1.0"], "hashes": "Optional"},
            "they contradict each other or the image: you ask for base==1.0, and the image has base==2.0",
        ),
        pytest.param(
            {"packages": [f"tiny{HASH}"]}, "what has a hash needs a version with ==: tiny from ", marks=pytest.mark.slow
        ),
        pytest.param(
            {"packages": ["tiny ~~ 1"], "hashes": "Optional"},
            "Invalid requirement: 'tiny ~~ 1'",
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"file": "none.txt"},
            "Could not open requirements file: [Errno 2] No such file or directory: ",
            marks=pytest.mark.slow,
        ),
    ],
    ids=["hash", "version", "name", "dependency", "image", "no version", "syntax", "no file"],
)
def test_a_mistake_is_one_sentence_and_final(
    image: str, index: str, tmp_path: Path, requirements: dict[str, Any], sentence: str
) -> None:
    done = install(image, tmp_path / "r", index=index, **requirements)

    assert done.code == 1, done.said
    assert done.error.startswith(f"{SAYS}{sentence}")
    assert "\n" not in done.error


def test_a_file_without_hashes_is_refused_with_the_line_to_write(image: str, index: str, tmp_path: Path) -> None:
    (tmp_path / "requirements.txt").write_text("tiny==1.0\n")

    refused = install(image, tmp_path / "r", file="requirements.txt", index=index)
    allowed = install(image, tmp_path / "r2", file="requirements.txt", index=index, hashes="Optional")

    assert refused.error == f"{SAYS}hashes are missing; add them, or set hashes to Optional: tiny==1.0{HASH}"
    assert (refused.code, allowed.code, allowed.error) == (1, 0, "")


def test_an_index_that_refuses_is_named_without_the_password(image: str, tmp_path: Path) -> None:
    with index_of(WHEELS, code=403) as address:
        index = address.replace("//", "//user:secret@")
        done = install(image, tmp_path / "r", packages=["tiny"], hashes="Optional", index=index)

    assert done.code == 1, done.said
    assert "403 Client Error" in done.error
    assert "secret" not in done.error


@pytest.mark.parametrize("code", [200, 503])
def test_an_index_that_does_not_answer_is_asked_again_by_another_attempt(image: str, tmp_path: Path, code: int) -> None:
    with index_of(WHEELS, code=503) as address:
        closed = address if code != 200 else "http://127.0.0.1:9/simple"
        done = install(image, tmp_path / "r", packages=["tiny"], hashes="Optional", index=closed)

    assert done.code == 75, done.said
    assert done.error.startswith(f"{SAYS}the index does not answer: ")


def test_an_image_without_pip_is_named(image: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))

    done = install(image, tmp_path / "r", packages=["tiny"], hashes="Optional")

    assert (done.code, done.error) == (
        1,
        f"{SAYS}the image has no pip: choose one that has pip, or one that has the packages",
    )
