"""A program without a job continues its own training only, and says what differs from the last one."""

import fcntl
import platform
import sys
from pathlib import Path

import numpy as np
import pytest

from qtj_contract import TerminationMessage
from qtj_contract.origin import Origin, machine
from qtj_contract.program_source import read_source
from qtj_contract.stored_source import stored_files
from tests.forked import run
from tests.trainer.processes import base_environment

PROGRAM = """
import argparse, os
from qtj_trainer import Program
import numpy as np
import ansatz

options = argparse.ArgumentParser()
options.add_argument("--seed", type=int, default=0)
options.add_argument("--epochs", type=int, default=3)
options = options.parse_args()
program = Program(epochs=options.epochs)
state = program.state(weights=np.full(2, float(options.seed)))
rows = np.loadtxt("rows.csv")
for epoch in program.epochs():
    state.weights = state.weights + 1
    epoch.report(loss=1.0 / epoch.number)
    if os.environ.get("END_AFTER") == str(epoch.number):
        os._exit(9)  # before its checkpoint: the one of the epoch before stays
print(state.weights.tolist())
program.finish(state.weights, {"mse": 0.5})
"""


class Desk:
    """A folder with a program, which is killed in an epoch if it is told to."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.write("train.py", PROGRAM)
        self.write("ansatz.py", "LAYERS = 1\n")
        self.write("rows.csv", "1\n2\n")

    def write(self, name: str, text: str) -> None:
        (self.folder / name).write_text(text)

    def record(self) -> None:
        """Records the program as `qtj run` does before it starts."""
        program = {"train.py": read_source(self.folder / "train.py")}
        for name, data in {**stored_files(program, 1), "source/1/origin.json": Origin().to_bytes()}.items():
            path = self.folder / "mine" / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data)

    def run(self, *arguments: str, **environment: str) -> tuple[int, str, str]:
        done = run(
            "program", [sys.executable, "train.py", *arguments], self.folder, {**base_environment(), **environment}
        )
        return done.returncode, done.stdout, done.stderr

    def interrupt(self, *arguments: str, **environment: str) -> None:
        code, _, errors = self.run(*arguments, END_AFTER="2", **environment)
        assert code == 9, errors


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path)


def test_the_same_program_continues(desk: Desk) -> None:
    desk.interrupt("--seed", "4")

    code, output, errors = desk.run("--seed", "4")

    assert (code, output) == (0, "[7.0, 7.0]\n"), errors
    assert "resumed" in errors
    assert not (desk.folder / "qtj-artifacts/program-2").exists()


@pytest.mark.parametrize(
    ("name", "text", "arguments", "words"),
    [
        ("unused", "", ["--seed", "1"], "--seed 0 -> 1"),
        ("ansatz.py", "LAYERS = 2\n", ["--seed", "0"], "ansatz.py changed: 1 line"),
        ("rows.csv", "1\n3\n", ["--seed", "0"], "rows.csv changed"),
    ],
)
def test_another_experiment_starts_in_a_folder_of_its_own(
    desk: Desk, name: str, text: str, arguments: list[str], words: str
) -> None:
    desk.interrupt("--seed", "0")
    desk.write(name, text)

    code, output, errors = desk.run(*arguments)

    start = float(arguments[1])
    assert (code, output) == (0, f"[{start + 3}, {start + 3}]\n"), errors
    assert (
        f"{words}: this is a new training in qtj-artifacts/program-2, and QTJ_RESUME=1 would continue the one in"
        " qtj-artifacts/program\n"
    ) in errors
    assert list((desk.folder / "qtj-artifacts/program/checkpoints/local").iterdir()), "the earlier one stays"


def test_an_edit_that_is_undone_continues_what_was_interrupted_before_it(desk: Desk) -> None:
    desk.interrupt("--seed", "4")
    desk.write("ansatz.py", "LAYERS = 2\n")
    desk.run("--seed", "4")
    desk.write("ansatz.py", "LAYERS = 1\n")

    code, output, errors = desk.run("--seed", "4")

    assert (code, output) == (0, "[7.0, 7.0]\n"), errors
    assert "resumed after epoch 1" in errors


def test_a_process_beside_another_one_trains_in_a_folder_of_its_own(desk: Desk) -> None:
    busy = desk.folder / "qtj-artifacts/program"
    busy.mkdir(parents=True)
    with (busy / ".active").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        code, _, errors = desk.run("--seed", "4")

    assert code == 0, errors
    assert "another process uses qtj-artifacts/program, so this is a new training in qtj-artifacts/program-2" in errors
    assert [each.name for each in busy.iterdir()] == [".active"]
    assert (desk.folder / "qtj-artifacts/program-2/result.json").exists()


def test_a_program_that_goes_on_after_its_training_leaves_its_folder(desk: Desk) -> None:
    desk.write(
        "notebook.py", "import train, fcntl\nfcntl.flock(open('qtj-artifacts/program/.active'), 6)\nprint('free')\n"
    )
    command = [sys.executable, "notebook.py"]

    done = run("program", command, desk.folder, base_environment())

    assert done.stdout == "[3.0, 3.0]\nfree\n", done.stderr


def test_what_another_process_uses_cannot_be_continued_meanwhile(desk: Desk) -> None:
    desk.interrupt("--seed", "4")
    with (desk.folder / "qtj-artifacts/program/.active").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)

        code, _, errors = desk.run("--seed", "4", QTJ_RESUME="1")

    assert code == 1, errors
    assert errors.strip().endswith(
        "another process uses qtj-artifacts/program, whose training QTJ_RESUME=1 would continue: wait for its end, or"
        " leave QTJ_RESUME out to start a new training"
    )
    assert not (desk.folder / "qtj-artifacts/program-2").exists()


def test_who_continues_gets_the_newest_of_the_same_with_any_epochs(desk: Desk) -> None:
    desk.interrupt("--seed", "1", "--epochs", "3")
    desk.interrupt("--seed", "100")
    assert desk.run("--seed", "1", "--epochs", "3")[1] == "[4.0, 4.0]\n"

    code, output, errors = desk.run("--seed", "1", "--epochs=4", QTJ_RESUME="1")

    assert (code, output) == (0, "[5.0, 5.0]\n"), errors
    assert "QTJ_RESUME=1 continues the training in qtj-artifacts/program (--epochs 3 -> 4)\n" in errors


def test_who_continues_another_one_gets_that_which_was_trained_last_and_is_told(desk: Desk) -> None:
    desk.interrupt("--seed", "1")
    desk.interrupt("--seed", "100")
    desk.run("--seed", "1")

    code, output, errors = desk.run("--seed", "7", "--epochs", "4", QTJ_RESUME="1")

    assert (code, output) == (0, "[5.0, 5.0]\n"), errors
    words = "(--seed 1 -> 7; --epochs not given -> 4)"
    assert f"QTJ_RESUME=1 continues the training in qtj-artifacts/program {words}\n" in errors


def test_who_asks_for_it_continues_another_program(desk: Desk) -> None:
    desk.interrupt("--seed", "0")

    code, output, errors = desk.run("--seed", "1", QTJ_RESUME="1")

    assert (code, output) == (0, "[3.0, 3.0]\n"), errors
    kept = desk.folder / "qtj-artifacts/program/source"
    assert sorted(path.name for path in kept.iterdir()) == ["1", "2"], "both are recorded"


def test_a_result_is_never_overwritten(desk: Desk) -> None:
    for number in (1, 2, 3):
        _, output, errors = desk.run("--seed", str(number))
        assert output == f"[{number + 3}.0, {number + 3}.0]\n", errors

    folders = sorted(path.parent.name for path in desk.folder.glob("qtj-artifacts/*/result.json"))
    assert folders == ["program", "program-2", "program-3"]


def test_named_artifacts_of_another_program_are_refused(desk: Desk) -> None:
    desk.interrupt("--seed", "0", QTJ_ARTIFACTS_URI="mine")

    code, _, errors = desk.run("--seed", "1", QTJ_ARTIFACTS_URI="mine")

    assert code == 1
    assert errors.strip().endswith(
        f"{(desk.folder / 'mine/checkpoints/local').as_uri()} is of another training (--seed 0 -> 1): set "
        "QTJ_ARTIFACTS_URI to another place, or QTJ_RESUME=1 to continue it"
    )
    assert desk.run("--seed", "0", QTJ_ARTIFACTS_URI="mine")[1] == "[3.0, 3.0]\n"


def test_a_job_goes_on_with_a_program_that_has_changed_and_says_so(desk: Desk) -> None:
    job = {"QTJ_ARTIFACTS_URI": "mine", "QTJ_JOB_UID": "uid-1"}
    desk.interrupt("--seed", "0", **job)
    desk.write("ansatz.py", "LAYERS = 2\n")

    code, output, errors = desk.run("--seed", "0", **job)

    assert (code, output) == (0, "[3.0, 3.0]\n"), errors
    assert "this job goes on with another program: ansatz.py changed: 1 line" in errors
    assert (desk.folder / "mine/source/1/ansatz.py").read_text() == "LAYERS = 1\n"
    assert (desk.folder / "mine/source/2/ansatz.py").read_text() == "LAYERS = 2\n"


def test_the_result_of_a_job_warns_that_two_programs_have_trained_also_after_one_more_restart(desk: Desk) -> None:
    job = {"QTJ_ARTIFACTS_URI": "mine", "QTJ_JOB_UID": "uid-1"}
    desk.interrupt(**job)
    desk.write("ansatz.py", "LAYERS = 2\n")
    desk.interrupt(**job)

    desk.run(QTJ_TERMINATION_LOG=str(desk.folder / "message"), **job)

    message = TerminationMessage.parse((desk.folder / "message").read_text())
    assert message
    assert message.warning == ("a restart has continued the training with another program (ansatz.py changed: 1 line)")


def test_the_program_of_another_job_in_the_same_artifacts_is_no_restart(desk: Desk) -> None:
    desk.interrupt(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-1")
    desk.write("ansatz.py", "LAYERS = 2\n")

    _, _, errors = desk.run(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-2")

    assert "another program" not in errors
    owners = [Origin.from_bytes((desk.folder / f"mine/source/{number}/origin.json").read_bytes()) for number in (1, 2)]
    assert [each.job_uid for each in owners] == ["uid-1", "uid-2"]


def test_versions_of_what_the_program_has_imported_are_recorded_with_machine_and_image(desk: Desk) -> None:
    desk.interrupt(QTJ_ARTIFACTS_URI="mine", QTJ_IMAGE="repository/iris:1")

    origin = Origin.from_bytes((desk.folder / "mine/source/1/origin.json").read_bytes())

    assert origin.versions["numpy"] == np.__version__
    assert origin.versions["python"] == platform.python_version()
    assert "tensorflow" not in origin.versions
    assert (origin.image, origin.machine) == ("repository/iris:1", machine())


def test_a_run_on_this_machine_does_not_claim_the_image_of_its_job(desk: Desk) -> None:
    log = str(desk.folder / "progress.jsonl")

    desk.interrupt(QTJ_ARTIFACTS_URI="mine", QTJ_IMAGE="repository/iris:1", QTJ_PROGRESS_LOG=log)

    assert Origin.from_bytes((desk.folder / "mine/source/1/origin.json").read_bytes()).image == ""


def test_a_finished_training_goes_on_with_more_epochs_where_it_has_ended(desk: Desk) -> None:
    assert desk.run("--seed", "4")[0] == 0
    desk.write("train.py", PROGRAM.replace("default=3", "default=5"))

    code, output, errors = desk.run("--seed", "4", QTJ_RESUME="1")

    assert (code, output) == (0, "[9.0, 9.0]\n"), errors
    assert "resumed after epoch 3" in errors
    assert not (desk.folder / "qtj-artifacts/program-2").exists()
    assert len(list((desk.folder / "qtj-artifacts/program/checkpoints/local.finished").iterdir())) == 1


def test_who_does_not_ask_for_that_trains_anew(desk: Desk) -> None:
    desk.run("--seed", "4", QTJ_ARTIFACTS_URI="mine")

    code, output, errors = desk.run("--seed", "4", QTJ_ARTIFACTS_URI="mine")

    assert (code, output) == (0, "[7.0, 7.0]\n"), errors
    assert "resumed" not in errors


SAVED_AGAIN = "import os\nopen('train.py', 'a').write('RATE = 2')\n" + PROGRAM
"""What somebody does who goes on editing while a program starts."""


def test_a_text_that_was_saved_after_the_start_is_not_recorded_as_the_one_that_runs(desk: Desk) -> None:
    desk.write("train.py", SAVED_AGAIN)

    code, _, errors = desk.run()

    assert code == 0, errors
    assert not [*desk.folder.glob("qtj-artifacts/program/source/*/train.py")]
    words = "the program was saved again since it started, and its earlier text, which runs, is not recorded"
    assert errors.count(words) == 1


def test_a_text_that_was_recorded_before_the_start_stays_the_recorded_one(desk: Desk) -> None:
    desk.write("train.py", SAVED_AGAIN)
    desk.record()

    code, _, errors = desk.run(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-1")

    assert code == 0, errors
    assert (desk.folder / "mine/source/1/train.py").read_text() == SAVED_AGAIN
    assert not (desk.folder / "mine/source/2").exists()
    assert "another program" not in errors
    assert "numpy" in Origin.from_bytes((desk.folder / "mine/source/1/origin.json").read_bytes()).versions


def test_a_module_that_is_saved_before_its_import_is_recorded_as_it_was_imported(desk: Desk) -> None:
    start = "program = Program(epochs=options.epochs)\n"
    text = PROGRAM.replace("import ansatz\n", "").replace(
        start, f"{start}open('ansatz.py', 'w').write('LAYERS = 2')\nimport ansatz\n"
    )
    desk.write("train.py", text)

    code, _, errors = desk.run(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-1")

    assert code == 0, errors
    assert (desk.folder / "mine/source/1/ansatz.py").read_text() == "LAYERS = 2"
    assert not (desk.folder / "mine/source/2").exists()
    assert "another program" not in errors


def test_a_module_that_is_saved_after_its_import_is_recorded_as_it_was_imported(desk: Desk) -> None:
    start = "program = Program(epochs=options.epochs)\n"
    desk.write("train.py", PROGRAM.replace(start, f"{start}open('ansatz.py', 'w').write('LAYERS = 2')\n"))

    code, _, errors = desk.run(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-1")

    assert code == 0, errors
    assert (desk.folder / "mine/source/1/ansatz.py").read_text() == "LAYERS = 1\n"


def test_what_was_saved_between_the_command_and_the_start_is_recorded_and_is_no_restart(desk: Desk) -> None:
    desk.record()
    desk.write("ansatz.py", "LAYERS = 2\n")

    code, _, errors = desk.run(QTJ_ARTIFACTS_URI="mine", QTJ_JOB_UID="uid-1")

    assert code == 0, errors
    assert (desk.folder / "mine/source/2/ansatz.py").read_text() == "LAYERS = 2\n"
    assert "another program" not in errors
