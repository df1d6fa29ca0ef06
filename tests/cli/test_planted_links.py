"""Reports are written through no link: who cloned a folder has not chosen where its links lead."""

from pathlib import Path

import pytest

from tests.cli.left import Left
from tests.cli.qtj import qtj
from tests.cli.test_scaling import Runs

PLANTED = (
    "own/1/report.txt", "own/1/report.html", "own/1/report.svg", "comparison.html", "scaling.txt", "scaling.svg",
)  # fmt: skip


@pytest.fixture
def precious(folder: Path) -> Path:
    """A file of the user, which links of the folder name."""
    path = folder / "precious"
    path.write_text("precious")
    for number in (1, 2):
        left = Left(folder, number)
        left.epochs(0.5, 0.25)
        left.record(left.status)
    runs = Runs(folder)
    runs.add(10, 100, 100, 100, run="qcnn/1")
    runs.add(20, 360, 400, 380, run="qcnn/2", workers=4)
    for name in PLANTED:
        (folder / "qtj-artifacts" / name).symlink_to(path)
    return path


def test_reports_replace_planted_links(folder: Path, precious: Path) -> None:
    commands = (["own/1"], ["own/1", "own/2"], ["--scaling", "qcnn"])

    answers = [qtj("report", *words) for words in commands]

    assert [answer.code for answer in answers] == [0, 0, 0], [answer.errors for answer in answers]
    assert precious.read_text() == "precious"
    assert [name for name in PLANTED if (folder / "qtj-artifacts" / name).is_symlink()] == []


def test_the_page_that_a_user_names_replaces_a_link_and_fills_a_stream(folder: Path, precious: Path) -> None:
    (folder / "mine.html").symlink_to(precious)

    assert qtj("report", "own/1", "--html", "mine.html").code == 0
    assert precious.read_text() == "precious"
    assert qtj("report", "own/1", "--html", "/dev/null").code == 0
    assert Path("/dev/null").is_char_device()
