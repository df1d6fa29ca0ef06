"""A Keras program of a user's own, with the helper and without."""

from pathlib import Path

import pytest

from qtj_operator.api import contract
from tests.trainer.processes import REPOSITORY, Process, Trainer

EXAMPLE = REPOSITORY / "examples" / "own_program.py"


@pytest.fixture
def slow(tmp_path: Path) -> Path:
    """The example with more epochs than a test waits for."""
    program = tmp_path / "slow.py"
    program.write_text(EXAMPLE.read_text().replace("EPOCHS = 5", "EPOCHS = 60"))
    return program


def start(trainer: Trainer, program: Path, artifacts: Path) -> Process:
    return trainer.start_program(program, QTJ_ARTIFACTS_URI=str(artifacts), QTJ_JOB_UID="uid-1")


def epochs_in(output: str) -> list[int]:
    return [int(line.split()[1].partition("/")[0]) for line in output.splitlines() if line.startswith("Epoch")]


def test_a_program_without_the_helper_trains_too(trainer: Trainer, tmp_path: Path) -> None:
    plain = tmp_path / "plain.py"
    lines = [line for line in EXAMPLE.read_text().splitlines() if "rogram" not in line or "model.fit" in line]
    fit = [line.replace("initial_epoch=first, callbacks=[program.callback()], ", "") for line in lines]
    plain.write_text("\n".join(fit))

    ended = [process.end() for process in trainer.start_programs(2, plain, TF_USE_LEGACY_KERAS="1")]

    assert [epochs_in(each.output) for each in ended] == [[1, 2, 3, 4, 5]] * 2


def test_two_workers_leave_weights_and_a_last_word(trainer: Trainer, tmp_path: Path) -> None:
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path), "QTJ_JOB_UID": "uid-1"}
    leader, follower = [process.end() for process in trainer.start_programs(2, EXAMPLE, **environment)]
    again = start(trainer, EXAMPLE, tmp_path).end()

    assert (leader.code, follower.code, again.code) == (0, 0, 0), leader.errors + follower.errors
    assert epochs_in(leader.output) == [1, 2, 3, 4, 5]
    assert leader.metrics["mse"] < 0.1
    assert Path(leader.weights.uri.removeprefix("file://")).exists()
    assert not list(tmp_path.glob("checkpoints/**/*.npz"))
    assert follower.message is None
    assert again.message == leader.message
    assert epochs_in(again.output) == []
    assert again.cpu_seconds < 5


def test_a_killed_program_goes_on_after_its_last_epoch(trainer: Trainer, slow: Path, tmp_path: Path) -> None:
    victim = start(trainer, slow, tmp_path / "a")
    victim.wait_for("Epoch 4/60")
    victim.kill()
    stored = len(list((tmp_path / "a").glob("checkpoints/uid-1/*.npz")))

    resumed = start(trainer, slow, tmp_path / "a").end()
    whole = start(trainer, slow, tmp_path / "b").end()

    assert stored > 0
    assert epochs_in(resumed.output)[0] >= 4
    assert epochs_in(resumed.output)[-1] == epochs_in(whole.output)[-1] == 60
    assert resumed.metrics == pytest.approx(whole.metrics, abs=1e-4)


def test_a_program_whose_peer_dies_asks_for_another_run(trainer: Trainer, slow: Path, tmp_path: Path) -> None:
    environment = {"QTJ_ARTIFACTS_URI": str(tmp_path / "a"), "QTJ_JOB_UID": "uid-1"}
    survivor, victim = trainer.start_programs(2, slow, **environment)
    survivor.wait_for("Epoch 3/60")

    victim.kill()

    ended = survivor.end()
    assert ended.code == contract.EXIT_RETRY
    assert "lost another worker" in ended.error


def test_a_mistake_in_a_program_keeps_its_traceback(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "wrong.py"
    program.write_text("from qtj_trainer import Program\n\nprogram = Program(epochs=1)\nraise ValueError('mine')\n")

    ended = start(trainer, program, tmp_path / "a").end()

    assert ended.code == 1
    assert "ValueError: mine" in ended.errors


def test_a_program_told_to_end_ends_at_once(trainer: Trainer, slow: Path, tmp_path: Path) -> None:
    process = start(trainer, slow, tmp_path / "a")
    process.wait_for("Epoch 3/60")

    process.popen.terminate()

    assert process.end().code == 143
