"""A training that was killed goes on from its checkpoints: real processes, alone and in pairs."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest
from google.cloud import storage

import qtj_contract as contract
from tests.trainer.checkpoints import JOB
from tests.trainer.outputs import epochs_in, progress_of, said_of_resuming
from tests.trainer.processes import Ended, Process, Trainer

EPOCHS = 60
TRAINING = ("train", "qcnn", "--qubits", "4", "--rounds", "4", "--batch-size", "4", "--epochs", str(EPOCHS))
STEPS = 3
"""Optimizer steps in an epoch of that training."""
TOLERANCE = 1e-3
"""Between one worker and two: rounding differs with the order of sums, and training amplifies it."""


def start(trainer: Trainer, artifacts: Path, *arguments: str, uid: str = JOB) -> Process:
    return trainer.start(*TRAINING, *arguments, "--artifacts", str(artifacts), QTJ_JOB_UID=uid)


def files_of(artifacts: Path, uid: str = JOB) -> list[Path]:
    return sorted(artifacts.glob(f"checkpoints/{uid}/*"))


@dataclass(frozen=True)
class Alone:
    """One process, killed; and what came of its artifacts, each time in a copy of them.

    Attributes:
        last: The last epoch it stored.
        resumed: The same job, run again.
        damaged: The same job, run again with its newest checkpoint truncated.
        another: Another job.
        folders: The artifacts of each.
    """

    last: int
    resumed: Ended
    damaged: Ended
    another: Ended
    folders: Mapping[str, Path]


@pytest.fixture(scope="module")
def alone(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    root = tmp_path_factory.mktemp("alone")
    victim = start(trainer, root / "victim")
    victim.wait_for("epoch  3/")
    victim.kill()
    folders = {name: root / name for name in ("resumed", "damaged", "another")}
    for folder in folders.values():
        shutil.copytree(root / "victim", folder)
    complete = [file for file in files_of(root / "victim") if file.suffix == ".npz" and file.name[0] != "."]
    newest = folders["damaged"] / complete[-1].relative_to(root / "victim")
    newest.write_bytes(newest.read_bytes()[:-1])
    processes = [
        start(trainer, folders["resumed"]),
        start(trainer, folders["damaged"]),
        start(trainer, folders["another"], uid="uid-2"),
    ]
    ended = [process.end() for process in processes]
    assert [each.code for each in ended] == [0] * 3, [each.errors for each in ended]
    resumed, damaged, another = ended
    return Alone(int(complete[-1].name[:9]) // STEPS, resumed, damaged, another, folders)


def test_a_killed_run_ends_as_if_nothing_had_happened(alone: Alone) -> None:
    first = said_of_resuming(alone.resumed)

    assert first.startswith(f"resumed after epoch {alone.last} from file:///")
    assert epochs_in(alone.resumed.output) == list(range(alone.last + 1, EPOCHS + 1))
    assert alone.resumed.metrics == alone.another.metrics
    assert alone.resumed.weights.sha256 == alone.another.weights.sha256


def test_a_truncated_checkpoint_costs_one_epoch(alone: Alone) -> None:
    warning = next(line for line in alone.damaged.output.splitlines() if "passing over" in line)
    said = said_of_resuming(alone.damaged)

    assert warning.startswith("passing over a checkpoint: ")
    assert warning.endswith("is truncated or was changed")
    assert said.startswith(f"resumed after epoch {alone.last - 1} from ")
    assert alone.damaged.weights.sha256 == alone.another.weights.sha256


def test_another_job_starts_anew(alone: Alone) -> None:
    assert "resumed" not in alone.another.output
    assert epochs_in(alone.another.output) == list(range(1, EPOCHS + 1))
    assert files_of(alone.folders["another"])


def test_after_success_there_are_none(alone: Alone) -> None:
    assert files_of(alone.folders["resumed"]) == files_of(alone.folders["damaged"]) == []
    assert files_of(alone.folders["another"], "uid-2") == []


def test_a_finished_job_does_not_need_them(alone: Alone, trainer: Trainer) -> None:
    again = start(trainer.alone, alone.folders["resumed"]).end()

    assert again.message == alone.resumed.message
    assert again.cpu_seconds < 5


@dataclass(frozen=True)
class Killed:
    """A bucket's folder of two workers of which one was killed.

    Attributes:
        bucket: The bucket.
        environment: Of the workers.
        last: The last epoch they stored.
    """

    bucket: storage.Bucket
    environment: Mapping[str, str]
    last: int

    def copy(self, prefix: str) -> dict[str, str]:
        """Copies the folder, and returns the environment of workers that use the copy."""
        for blob in list(self.bucket.list_blobs(prefix="killed/")):
            self.bucket.copy_blob(blob, self.bucket, blob.name.replace("killed", prefix, 1))
        return {**self.environment, "QTJ_ARTIFACTS_URI": f"gs://{self.bucket.name}/{prefix}"}


@pytest.fixture(scope="module")
def killed(trainer: Trainer, bucket: storage.Bucket, emulator: str) -> Killed:
    address = f"gs://{bucket.name}/killed"
    environment = {"STORAGE_EMULATOR_HOST": emulator, "QTJ_ARTIFACTS_URI": address, "QTJ_JOB_UID": JOB}
    leader, follower = trainer.start_cluster(2, *TRAINING, **environment)
    leader.wait_for("epoch  3/")
    follower.kill()
    ended = leader.end()
    assert (ended.code, len(ended.sentences)) == (contract.EXIT_RETRY, 1), ended.errors
    last = max(blob.name for blob in bucket.list_blobs(prefix=f"killed/checkpoints/{JOB}/"))
    return Killed(bucket, environment, int(last.rpartition("/")[2][:9]) // STEPS)


@pytest.mark.parametrize("size", [pytest.param(1, marks=pytest.mark.slow), 2])
def test_two_workers_of_which_one_was_killed_go_on_as_one_or_two(
    alone: Alone, trainer: Trainer, killed: Killed, size: int
) -> None:
    processes = trainer.start_cluster(size, *TRAINING, **killed.copy(f"resumed-by-{size}"))
    progress = progress_of(processes[0])
    leader, *followers = [process.end() for process in processes]

    assert [each.code for each in (leader, *followers)] == [0] * size, leader.errors
    assert (progress.epoch, progress.step) == (killed.last, STEPS * killed.last)
    assert said_of_resuming(leader).startswith(f"resumed after epoch {killed.last} from gs://")
    assert epochs_in(leader.output) == list(range(killed.last + 1, EPOCHS + 1))
    assert leader.metrics == pytest.approx(alone.another.metrics, abs=TOLERANCE)
    assert not list(killed.bucket.list_blobs(prefix=f"resumed-by-{size}/checkpoints/"))
