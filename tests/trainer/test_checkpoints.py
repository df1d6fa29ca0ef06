"""A training that was interrupted goes on: the checkpoints by themselves, then real processes that are killed."""

import shutil
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from urllib.request import urlopen

import numpy as np
import pytest
from google.cloud import storage

import qtj_contract as contract
from qtj_trainer.errors import TryAgainError, UserError
from qtj_trainer.run.checkpoints import Checkpoints
from qtj_trainer.run.position import Epoch, Gradient, Position
from qtj_trainer.storage import Store, open_store
from qtj_trainer.storage.files import FileStore
from qtj_trainer.workloads.options import Options
from qtj_trainer.workloads.qcnn import QcnnOptions
from tests.trainer.processes import Ended, Process, Trainer, eventually, listens

OPTIONS = Options(epochs=10)
STATE = (np.arange(6, dtype=np.float32).reshape(2, 3), np.array(7))
JOB = "uid-1"

EPOCHS = 60
TRAINING = ("train", "qcnn", "--qubits", "4", "--rounds", "4", "--batch-size", "4", "--epochs", str(EPOCHS))
STEPS = 3
"""Optimizer steps in an epoch of that training."""
TOLERANCE = 1e-3
"""Between one worker and two: rounding differs with the order of sums, and training amplifies it."""


class Model:
    """As much of a workload as a checkpoint is told by."""

    name = "model"

    def __init__(self, structure: str = "dense") -> None:
        self._structure = structure

    def fingerprint(self, _: Options) -> str:
        return self._structure


class Full(FileStore):
    """A disk on which nothing fits any more."""

    def write(self, name: str, data: bytes) -> None:
        raise TryAgainError(f"no room for the {len(data)} bytes of {name}")


def checkpoints(store: Store, uid: str = JOB, *, model: Model | None = None, options: Options = OPTIONS) -> Checkpoints:
    return Checkpoints(store, uid, model or Model(), options)


def after(number: int) -> Position:
    """The position after an epoch of three steps."""
    gradients = {"angles": Gradient(mean=0.1, variance=0.2)}
    scores = {"mse": 0.1 + number}
    last = Epoch(number, 3 * number, loss=1 / number, scores=scores, examples_per_second=3.5, gradients=gradients)
    return Position(3 * number, last)


def save(store: Store, *numbers: int, uid: str = JOB) -> list[Path]:
    """Stores checkpoints after these epochs and returns their files, the newest last."""
    saved = checkpoints(store, uid)
    names = [saved.save(after(number), STATE) for number in numbers]
    return [Path(store.uri(name).removeprefix("file://")) for name in names]


def resumed_after(store: Store) -> int | None:
    """Returns the epoch after which a new attempt goes on."""
    found = checkpoints(store).newest()
    return found.position.epochs if found else None


@pytest.fixture
def store(tmp_path: Path) -> Store:
    return open_store(str(tmp_path))


def test_a_checkpoint_is_read_as_it_was_stored(store: Store) -> None:
    name = checkpoints(store).save(replace(after(3), step=11, sums=(0.5, 0.25)), STATE)

    for found in (checkpoints(store).newest(), checkpoints(store).read(name)):
        assert found is not None
        assert (found.name, found.uri) == (name, store.uri(name))
        assert found.position == Position(11, after(3).last, (0.5, 0.25))
        assert [(each.dtype, each.tolist()) for each in found.state] == [(each.dtype, each.tolist()) for each in STATE]


def test_the_last_two_are_kept(store: Store) -> None:
    files = save(store, 1, 2, 3)

    assert [file.exists() for file in files] == [False, True, True]


def test_the_millionth_is_newer_than_the_one_before(store: Store) -> None:
    save(store, 999_999, 1_000_000)

    found = checkpoints(store, options=Options(epochs=1_000_000)).newest()

    assert found is not None
    assert found.position.epochs == 1_000_000


def test_a_checkpoint_of_another_data_file_is_passed_over_with_that_reason(
    store: Store, caplog: pytest.LogCaptureFixture
) -> None:
    before, after_a_change = (QcnnOptions(data="d.csv", data_sha256=digest * 32) for digest in ("ab", "cd"))
    checkpoints(store, options=before).save(after(1), STATE)

    assert checkpoints(store, options=after_a_change).newest() is None
    [told] = caplog.messages
    assert told.endswith(" is of another training: the file of --data was changed since")


@pytest.mark.parametrize("damage", ["truncated", "changed", "empty"])
def test_a_damaged_one_falls_back_to_the_one_before(
    store: Store, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    newest = save(store, 1, 2)[-1]
    data = newest.read_bytes()
    newest.write_bytes({"truncated": data[:-100], "changed": b"?" + data[1:], "empty": b""}[damage])

    assert resumed_after(store) == 1
    assert [record.getMessage() for record in caplog.records] == [
        f"passing over a checkpoint: {newest.as_uri()} is truncated or was changed"
    ]


def test_damaged_ones_and_interrupted_writes_are_the_first_to_go(store: Store) -> None:
    old, newest = save(store, 1, 2)
    newest.write_bytes(b"")
    unfinished = newest.with_name(f".{newest.name}.1f3c")
    unfinished.write_bytes(b"PK")
    attempt = checkpoints(store)
    assert attempt.newest()

    written = attempt.save(replace(after(2), sums=(1.0,)), STATE)

    assert sorted(old.parent.iterdir()) == sorted([old, old.with_name(written.rpartition("/")[2])])


@pytest.mark.parametrize(
    ("model", "options", "why"),
    [
        (Model("convolution"), OPTIONS, "is of another training"),
        (Model(), replace(OPTIONS, seed=1), "is of another training"),
        (Model(), replace(OPTIONS, epochs=1), "is after epoch 2, beyond the 1 asked for"),
    ],
)
def test_those_of_another_training_are_passed_over(
    store: Store, model: Model, options: Options, why: str, caplog: pytest.LogCaptureFixture
) -> None:
    save(store, 2)

    assert checkpoints(store, model=model, options=options).newest() is None
    assert why in caplog.text


def test_more_epochs_are_the_same_training(store: Store) -> None:
    save(store, 2)

    assert checkpoints(store, options=replace(OPTIONS, epochs=20, checkpoint_every=5)).newest()


def test_another_job_has_none(store: Store) -> None:
    save(store, 1)

    assert checkpoints(store, "uid-2").newest() is None
    assert checkpoints(store, "").newest() is None


def test_clearing_takes_those_of_the_job_alone(store: Store) -> None:
    mine, theirs = save(store, 1, 2)[-1], save(store, 1, uid="uid-2")[-1]

    checkpoints(store).clear()

    assert not mine.parent.exists()
    assert theirs.exists()


def test_every_so_often(store: Store) -> None:
    every_third = checkpoints(store, options=replace(OPTIONS, checkpoint_every=3))
    never = checkpoints(store, options=replace(OPTIONS, checkpoint_every=0))

    assert [number for number in range(1, 11) if every_third.is_due(after(number))] == [3, 6, 9]
    assert not any(never.is_due(after(number)) for number in range(1, 11))


def test_steps_count_beside_epochs(store: Store) -> None:
    every_fourth = checkpoints(store, options=replace(OPTIONS, checkpoint_every=0, checkpoint_steps=4))

    assert [step for step in range(1, 13) if every_fourth.is_due(Position(step))] == [4, 8, 12]


def test_one_within_an_epoch_is_newer_than_the_epochs_end(store: Store) -> None:
    save(store, 1)
    checkpoints(store).add(Position(4, after(1).last, (0.5,)), STATE)

    found = checkpoints(store).newest()

    assert found is not None
    assert (found.position.step, found.position.epochs) == (4, 1)


def test_a_failed_write_leaves_the_one_before(store: Store, tmp_path: Path) -> None:
    save(store, 1, 2)
    attempt = checkpoints(Full(tmp_path))
    assert attempt.newest()

    with pytest.raises(TryAgainError, match=r"no room for .* checkpoints/uid-1/000000009-"):
        attempt.save(after(3), STATE)

    assert resumed_after(store) == 2


def test_a_store_that_takes_none_is_named(store: Store, tmp_path: Path) -> None:
    (tmp_path / "checkpoints").touch()

    assert resumed_after(store) is None
    with pytest.raises(UserError, match=r"cannot write artifacts to .* \(.*\): choose a folder"):
        save(store, 1)


def test_one_that_cannot_be_deleted_stops_nobody(store: Store, caplog: pytest.LogCaptureFixture) -> None:
    stubborn = save(store, 1)[0].parent / "folder"
    stubborn.mkdir()
    attempt = checkpoints(store)
    attempt.newest()

    attempt.save(after(2), STATE)
    attempt.clear()

    assert caplog.text.count("old checkpoints stay: cannot delete") == 2


def test_a_follower_without_the_leaders_storage_says_what_to_do(store: Store, tmp_path: Path) -> None:
    name = checkpoints(store).save(after(1), STATE)

    with pytest.raises(UserError, match=r"which is not here: put the artifacts where all workers can read them"):
        checkpoints(open_store(str(tmp_path / "other"))).read(name)


def test_a_follower_that_reads_something_else_asks_for_another_run(store: Store) -> None:
    file = save(store, 1)[0]
    file.write_bytes(b"")

    with pytest.raises(TryAgainError, match="is truncated or was changed: all have to start again"):
        checkpoints(store).read(f"checkpoints/{JOB}/{file.name}")


def start(trainer: Trainer, artifacts: Path, *arguments: str, uid: str = JOB) -> Process:
    return trainer.start(*TRAINING, *arguments, "--artifacts", str(artifacts), QTJ_JOB_UID=uid)


def files_of(artifacts: Path, uid: str = JOB) -> list[Path]:
    return sorted(artifacts.glob(f"checkpoints/{uid}/*"))


def epochs_in(output: str) -> list[int]:
    return [
        int(line.removeprefix("epoch").partition("/")[0]) for line in output.splitlines() if line.startswith("epoch")
    ]


def said_of_resuming(ended: Ended) -> str:
    return next(line for line in ended.output.splitlines() if line.startswith("resumed"))


def progress_of(process: Process) -> contract.Progress:
    port = process.environment["QTJ_METRICS_PORT"]
    eventually(lambda: listens(int(port)))
    with urlopen(f"http://127.0.0.1:{port}{contract.PROGRESS_PATH}") as answer:
        progress = contract.Progress.parse(answer.read().decode())
    assert progress is not None
    return progress


@dataclass(frozen=True)
class Alone:
    """One process, killed; and what came of its artifacts, each time in a copy of them.

    Attributes:
        last: The last epoch it stored.
        resumed: The same job, run again.
        damaged: The same job, run again with its newest checkpoint truncated.
        another: Another job.
        careless: The same job, told to make no checkpoints.
        folders: The artifacts of each.
    """

    last: int
    resumed: Ended
    damaged: Ended
    another: Ended
    careless: Ended
    folders: Mapping[str, Path]


@pytest.fixture(scope="module")
def alone(trainer: Trainer, tmp_path_factory: pytest.TempPathFactory) -> Alone:
    root = tmp_path_factory.mktemp("alone")
    victim = start(trainer, root / "victim")
    victim.wait_for("epoch  3/")
    victim.kill()
    folders = {name: root / name for name in ("resumed", "damaged", "another", "careless")}
    for folder in folders.values():
        shutil.copytree(root / "victim", folder)
    complete = [file for file in files_of(root / "victim") if file.suffix == ".npz" and file.name[0] != "."]
    newest = folders["damaged"] / complete[-1].relative_to(root / "victim")
    newest.write_bytes(newest.read_bytes()[:-1])
    processes = [
        start(trainer, folders["resumed"]),
        start(trainer, folders["damaged"]),
        start(trainer, folders["another"], uid="uid-2"),
        start(trainer, folders["careless"], "--checkpoint-every", "0"),
    ]
    ended = [process.end() for process in processes]
    assert [each.code for each in ended] == [0] * 4, [each.errors for each in ended]
    resumed, damaged, another, careless = ended
    return Alone(int(complete[-1].name[:9]) // STEPS, resumed, damaged, another, careless, folders)


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


def test_without_checkpoints_a_run_starts_anew(alone: Alone) -> None:
    assert "resumed" not in alone.careless.output
    assert len(epochs_in(alone.careless.output)) == EPOCHS
    assert int(files_of(alone.folders["careless"])[-1].name[:9]) == STEPS * alone.last


def test_after_success_there_are_none(alone: Alone) -> None:
    assert files_of(alone.folders["resumed"]) == files_of(alone.folders["damaged"]) == []
    assert files_of(alone.folders["another"], "uid-2") == []


def test_a_finished_job_does_not_need_them(alone: Alone, trainer: Trainer) -> None:
    again = start(trainer, alone.folders["resumed"]).end()

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


@pytest.mark.parametrize("size", [1, 2])
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
