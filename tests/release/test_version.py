"""pyproject.toml is the one place where the version is written by hand."""

import subprocess
from pathlib import Path

import pytest

from qtj.create.init import write_job
from qtj.create.prompt import JobOptions, Kind
from qtj_contract.version import installed_version
from tools.release.version import set_version, strays

FILES = {
    "pyproject.toml": '[project]\nname = "x"\nversion = "1.2.3"\n[tool.x]\nversion = "7"\n'
    'dependencies = ["quantumtrainingjob-part[more]==1.2.3"]\n',
    "part/pyproject.toml": '[project]\nname = "x-part"\nversion = "1.2.3"\n',
    "job.yaml": "image: localhost/qtj-trainer:1.2.3\n",
    "Chart.yaml": "version: 1.2.3\nappVersion: 1.2.3\n",
    "CHANGELOG.md": "## 0.9.0\n\n- The image is qtj-trainer:0.9.0\n",
}


@pytest.fixture
def checkout(tmp_path: Path) -> Path:
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    subprocess.run(["git", "init", "-q"], cwd=tmp_path, check=True)
    subprocess.run(["git", "add", "."], cwd=tmp_path, check=True)
    return tmp_path


def test_every_file_of_this_checkout_has_the_version_of_pyproject() -> None:
    assert strays() == [], "write the version in pyproject.toml alone: `make version VERSION=...` does the rest"


def test_an_image_with_another_version_is_found(checkout: Path) -> None:
    (checkout / "job.yaml").write_text("a: 1.0\nimage: localhost/qtj-operator:1.2.4\n")

    assert strays(checkout) == ["job.yaml:2"]


@pytest.mark.parametrize(
    ("right", "wrong", "stray"),
    [
        ('version = "1.2.3"', 'version = "1.2.4"', "part/pyproject.toml:3"),
        ("[more]==1.2.3", "[more]==1.2.4", "pyproject.toml:6"),
    ],
)
def test_a_distribution_with_another_version_is_found(checkout: Path, right: str, wrong: str, stray: str) -> None:
    path = checkout / stray.partition(":")[0]
    path.write_text(path.read_text().replace(right, wrong))

    assert strays(checkout) == [stray]


def test_a_chart_with_another_version_is_found(checkout: Path) -> None:
    (checkout / "Chart.yaml").write_text("version: 1.2.3\nappVersion: 1.2.4\n")

    assert strays(checkout) == ["Chart.yaml:2"]


def test_a_version_that_is_repeated_is_found(checkout: Path) -> None:
    (checkout / "job.yaml").write_text("address: 10.1.2.3\n__version__: 1.2.3\n")

    assert strays(checkout) == ["job.yaml:2"]


def test_a_new_version_reaches_pyproject_the_chart_and_images_and_no_history(checkout: Path) -> None:
    set_version("2.0.0", checkout)

    assert strays(checkout) == []
    assert 'version = "2.0.0"\n[tool.x]\nversion = "7"' in (checkout / "pyproject.toml").read_text()
    assert '"quantumtrainingjob-part[more]==2.0.0"' in (checkout / "pyproject.toml").read_text()
    assert 'version = "2.0.0"' in (checkout / "part/pyproject.toml").read_text()
    assert (checkout / "job.yaml").read_text() == "image: localhost/qtj-trainer:2.0.0\n"
    assert (checkout / "Chart.yaml").read_text() == "version: 2.0.0\nappVersion: 2.0.0\n"
    assert (checkout / "CHANGELOG.md").read_text() == FILES["CHANGELOG.md"]


def test_a_job_that_qtj_init_writes_names_the_trainer_that_is_installed(tmp_path: Path) -> None:
    (job,) = write_job(JobOptions(kind=Kind.QCNN, workers=2, epochs=1), tmp_path)

    assert f"image: localhost/qtj-trainer:{installed_version()} #" in job.read_text()
