"""Fashion-MNIST: its file format, generated images, and training on several devices."""

import gzip
import struct
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.workloads.fashion_mnist import FashionMnist, FashionMnistOptions, generated, idx_array
from tests.trainer.processes import Ended, Trainer

SMALL = ("train", "fashion-mnist", "--epochs", "2", "--examples", "400")


def idx(array: NDArray[Any]) -> bytes:
    return (
        bytes([0, 0, 8, array.ndim]) + struct.pack(f">{array.ndim}I", *array.shape) + array.astype(np.uint8).tobytes()
    )


def write_set(folder: Path, *, compressed: bool) -> None:
    """Writes the four files, of generated images."""
    for part, count, seed in (("train", 40, 1), ("t10k", 20, 2)):
        columns = generated(count, seed)
        for name, column in (("images-idx3", columns["image"]), ("labels-idx1", columns["label"])):
            data = idx(column)
            path = folder / f"{part}-{name}-ubyte{'.gz' if compressed else ''}"
            path.write_bytes(gzip.compress(data) if compressed else data)


@pytest.mark.parametrize("compressed", [True, False])
def test_real_files_are_read_as_they_are(tmp_path: Path, *, compressed: bool) -> None:
    write_set(tmp_path, compressed=compressed)

    split = FashionMnist().split(FashionMnistOptions(data=str(tmp_path)))

    for part, expected in ((split.training, generated(40, 1)), (split.held_out, generated(20, 2))):
        np.testing.assert_array_equal(part["image"], expected["image"])
        np.testing.assert_array_equal(part["label"], expected["label"])


@pytest.mark.parametrize(
    ("data", "why"),
    [
        (b"", "does not start with the header of an IDX file"),
        (b"\0\0\x0d\x01\0\0\0\1????", "does not start with the header of an IDX file"),
        (idx(np.zeros((2, 3)))[:-1], "has 5 values, and its header declares 2x3"),
        (idx(np.zeros(2)) + b"\0", "has 3 values, and its header declares 2"),
    ],
)
def test_a_file_that_is_none_is_explained(data: bytes, why: str) -> None:
    with pytest.raises(ValueError, match=why):
        idx_array(data)


def test_a_truncated_file_is_named(tmp_path: Path) -> None:
    write_set(tmp_path, compressed=True)
    file = tmp_path / "train-images-idx3-ubyte.gz"
    file.write_bytes(file.read_bytes()[:-20])

    with pytest.raises(UserError, match=r"train-images-idx3-ubyte cannot be read: .*; download the file again"):
        FashionMnist().split(FashionMnistOptions(data=str(tmp_path)))


def test_a_folder_without_the_files_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="--data must hold the four files"):
        FashionMnist().split(FashionMnistOptions(data=str(tmp_path)))


def test_generated_images_depend_only_on_the_seed() -> None:
    first, second, other = generated(20, 1), generated(20, 1), generated(20, 2)

    np.testing.assert_array_equal(first["image"], second["image"])
    assert not np.array_equal(first["image"], other["image"])
    assert first["image"].shape == (20, 28, 28)


def losses(ended: Ended) -> list[float]:
    return [float(line.split()[3]) for line in ended.output.splitlines() if line.startswith("epoch")]


def test_two_devices_compute_what_one_computes(trainer: Trainer, tmp_path: Path) -> None:
    one, two = (
        trainer.run(*SMALL, "--devices", devices, "--artifacts", str(tmp_path / devices)) for devices in ("1", "2")
    )

    assert (one.code, two.code) == (0, 0), two.errors
    assert "400 generated images, not Fashion-MNIST" in two.output
    assert losses(one) == pytest.approx(losses(two), abs=1e-2)
    assert two.metrics["accuracy"] > 0.5
    assert two.message
    assert two.message.progress
    assert two.message.progress.devices == 2
    assert " examples/s" in two.output
    assert "trained 10 steps in " in two.output
