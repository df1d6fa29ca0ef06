"""A process that is ended by SIGTERM stores a checkpoint, and the next one continues from it to the same result."""

import signal
from pathlib import Path

import pytest

from tests.trainer.outputs import progress_of
from tests.trainer.processes import Trainer
from tools.background import wait_until

# No checkpoint by epoch or step falls due: the one that is found was made because of the signal.
TRAINING = ("train", "qcnn", "--qubits", "4", "--rounds", "30", "--batch-size", "2", "--epochs", "4")
RARELY = ("--checkpoint-every", "1000")


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_a_training_told_to_end_loses_no_step(trainer: Trainer, tmp_path: Path, size: int) -> None:
    arguments = (*TRAINING, *RARELY, "--artifacts", str(tmp_path))
    leader, *_ = trainer.alone.start_cluster(size, *arguments, QTJ_JOB_UID="uid-1")
    wait_until(lambda: (progress_of(leader).step or 0) > 50)
    leader.popen.send_signal(signal.SIGTERM)
    stopped = leader.end()
    step = max(int(file.name[:9]) for file in tmp_path.glob("checkpoints/uid-1/*.npz"))

    resumed = trainer.run(*arguments, QTJ_JOB_UID="uid-1")
    whole = trainer.run(*TRAINING, "--artifacts", str(tmp_path / "whole"))

    assert stopped.code == 128 + signal.SIGTERM
    assert f"was asked to end, after step {step}" in stopped.output
    assert stopped.sentences == []
    assert f"/checkpoints/uid-1/{step:09d}-" in resumed.output, "it may be the end of an epoch, by chance"
    if size == 1:
        assert resumed.weights.sha256 == whole.weights.sha256
        assert resumed.metrics == whole.metrics
    else:
        assert resumed.metrics == pytest.approx(whole.metrics, abs=1e-3)


def test_nothing_of_others_is_deleted_at_the_end(trainer: Trainer, tmp_path: Path) -> None:
    theirs = tmp_path / "tmp" / "theirs"
    theirs.mkdir(parents=True)
    (theirs / "file").touch()
    folder = str(tmp_path / "tmp")
    small = ("train", "qcnn", "--qubits", "4", "--rounds", "2", "--epochs", "1", "--artifacts", str(tmp_path / "a"))

    trained = trainer.alone.run(*small, TMPDIR=folder)
    inferred = trainer.run("infer", "--artifacts", str(tmp_path / "a"), TMPDIR=folder)

    assert (trained.code, inferred.code) == (0, 0), trained.errors + inferred.errors
    assert [str(path.relative_to(folder)) for path in sorted(Path(folder).rglob("*"))] == ["theirs", "theirs/file"]
