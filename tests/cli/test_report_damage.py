"""`qtj report` over what is damaged, and over links that somebody has planted: sentences, and the rest of it."""

from pathlib import Path

import pytest

from tests.cli.left import Left
from tests.cli.qtj import qtj
from tests.cli.test_scaling import Runs

PLANTED = (
    "own/1/report.txt", "own/1/report.html", "own/1/report.svg", "comparison.html", "scaling.txt", "scaling.svg",
)  # fmt: skip


@pytest.mark.parametrize(
    "record", ["", "{", "[]", "3", "null", "{}", '{"metadata": []}', '{"metadata": {"name": 3}}', "[" * 100_000, "\xff"]
)
def test_json_that_is_no_record_is_a_sentence(left: Left, record: str) -> None:
    (left.place / "job.json").write_text(record, encoding="latin-1")

    answer = qtj("report", "own")

    assert answer.code == 2
    (sentence,) = answer.sentences
    assert sentence.startswith(f"{left.place / 'job.json'} is not the record of a job: it was changed, ")
    assert sentence.endswith("so start over with `qtj run FILE --fresh`")


@pytest.mark.parametrize(
    "status", [None, [], {"phase": 3}, {"conditions": [3]}, {"progress": {"epoch": "x"}}, {"weights": "w"}]
)
def test_a_status_of_something_else_is_passed_over(left: Left, status: object) -> None:
    left.record(status)

    answer = qtj("report", "own")

    assert answer.code == 0
    assert answer.output.startswith("own was interrupted\n")


def test_a_folder_where_a_file_should_be_is_a_sentence(left: Left) -> None:
    for name in ("progress.jsonl", "result.json"):
        (left.place / name).mkdir()

    lines = left.report()

    assert f"the epochs cannot be read from {left.place / 'progress.jsonl'} (Is a directory)" in lines
    assert f"the metrics of the training cannot be read from {left.place / 'result.json'} (Is a directory)" in lines


@pytest.mark.parametrize("text", ["", "{", "[]", "3", '{"metrics": 3}'])
def test_a_result_of_something_else_is_a_sentence(left: Left, text: str) -> None:
    (left.place / "result.json").write_text(text)

    said = f"the metrics of the training cannot be read: {left.place / 'result.json'} is not the result of a training"
    assert said in left.report()


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '{"task": "classification"}', '{"labels": 3}'])
def test_predictions_of_something_else_are_a_sentence(left: Left, text: str) -> None:
    left.predictions(text)

    place = left.place / "weights/1f3c.predictions.json"
    said = f"the predictions cannot be read: {place} is not what docs/reference/contract.md describes"
    assert said in left.report()


def test_an_epoch_that_is_being_written_waits_for_the_next_report(left: Left) -> None:
    left.epochs(0.5)
    with (left.place / "progress.jsonl").open("a") as log:
        log.write('{"attempt": 1, "epo')

    lines = left.report()

    assert "               0.5 after epoch 1" in lines
    assert not any("cannot be read" in line for line in lines)


def test_lines_that_are_no_epochs_are_counted(left: Left) -> None:
    (left.place / "progress.jsonl").write_text("epoch 1/2 loss 0.3,\n\x00\n")
    left.epochs(0.5)

    assert "lines of the recorded epochs that cannot be read and are left out: 2" in left.report()


def test_a_log_that_says_what_it_likes_is_not_read(left: Left) -> None:
    (left.place / "logs").mkdir()
    (left.place / "logs/own-worker-0.1.log").write_text("epoch 1/2 loss 0.3,\nlabel prediction\n")

    assert "epochs         none recorded yet" in left.report()


def test_a_report_that_cannot_be_written_is_a_sentence(left: Left) -> None:
    left.report()
    (left.place / "report.txt").unlink()
    (left.place / "report.txt").mkdir()

    answer = qtj("report", "own")

    assert answer.code == 2
    assert answer.sentences == [
        f"cannot write the report to {left.place} (Is a directory): correct that, or print the report with -o json"
    ]


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
