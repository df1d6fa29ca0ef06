"""What the program of a run says it is doing."""

from pathlib import Path

from qtj.local.activity import Activity, activity_in_folder


def test_what_a_program_said_last_is_read_from_the_folder(tmp_path: Path) -> None:
    activity = Activity(tmp_path)
    activity.update("reading data")
    activity.update("compiling")

    assert activity_in_folder(tmp_path) == "compiling"


def test_a_program_that_has_said_nothing_has_no_activity(tmp_path: Path) -> None:
    assert activity_in_folder(tmp_path) is None
    assert activity_in_folder(tmp_path / "nowhere") is None


def test_a_new_run_removes_what_an_earlier_one_left(tmp_path: Path) -> None:
    Activity(tmp_path).update("compiling")

    Activity(tmp_path)

    assert activity_in_folder(tmp_path) is None


def test_a_folder_that_takes_no_file_ends_no_training(tmp_path: Path) -> None:
    activity = Activity(tmp_path / "nowhere")

    activity.update("compiling")
    activity.remove()

    assert activity_in_folder(tmp_path / "nowhere") is None
