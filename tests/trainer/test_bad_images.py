"""Folders of images with something wrong in them: one sentence names the file or the folder."""

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from qtj_trainer.errors import UserError
from qtj_trainer.loop.batches import batches, inputs_named
from qtj_trainer.workloads.images import Images, ImagesOptions
from tests.trainer.processes import Trainer

SMALL = ("--size", "32", "--epochs", "1", "--batch-size", "2", "--checkpoint-every", "0")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of two images each, for training and for the held-out set."""
    pixels = np.random.default_rng(0).integers(0, 255, (40, 50, 3), np.uint8)
    for part in ("train", "test"):
        for name in ("cat", "dog"):
            images = tmp_path / "data" / part / name
            images.mkdir(parents=True)
            for number in range(2):
                Image.fromarray(pixels).save(images / f"{number}.jpeg")
    return tmp_path / "data"


def truncate(path: Path) -> None:
    path.write_bytes(path.read_bytes()[:400])


def dangle(path: Path) -> None:
    path.unlink()
    path.symlink_to("nowhere")


def be_a_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


@pytest.mark.parametrize(
    ("spoil", "reason"),
    [
        (truncate, "jpeg::Uncompress failed. Invalid JPEG data or crop window"),
        (lambda path: path.write_text("no image"), "Unknown image file format. One of JPEG, PNG, GIF, BMP required"),
        (lambda path: path.write_bytes(b""), "Input is empty"),
        (dangle, "{path}; No such file or directory"),
        (be_a_folder, "{path}; Is a directory"),
    ],
)
def test_an_image_that_cannot_be_read_is_named(folder: Path, spoil: Callable[[Path], object], reason: str) -> None:
    path = folder / "train" / "dog" / "1.jpeg"
    spoil(path)
    options = ImagesOptions(data=str(folder), size=32)
    examples = Images().encode(Images().split(options).training, options)

    with pytest.raises(UserError) as refused, inputs_named(examples):
        list(batches(examples, 2, seed=0).take(2))

    assert str(refused.value) == f"{path} cannot be read as an image ({reason.format(path=path)}): replace or remove it"


@pytest.mark.parametrize("part", ["train", "test"])
def test_training_ends_with_the_name_of_the_image(trainer: Trainer, folder: Path, tmp_path: Path, part: str) -> None:
    truncate(folder / part / "cat" / "0.jpeg")

    ended = trainer.run("train", "images", "--data", str(folder), *SMALL, "--artifacts", str(tmp_path))

    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error.startswith(f"{folder}/{part}/cat/0.jpeg cannot be read as an image (jpeg::Uncompress failed")


def test_inference_names_an_image_that_was_changed_since_the_training(
    trainer: Trainer, folder: Path, tmp_path: Path
) -> None:
    trained = trainer.run("train", "images", "--data", str(folder), *SMALL, "--artifacts", str(tmp_path))
    truncate(folder / "test" / "dog" / "0.jpeg")

    ended = trainer.run("infer", "--artifacts", str(tmp_path))

    assert trained.code == 0, trained.errors
    assert (ended.code, len(ended.sentences)) == (1, 1), ended.errors
    assert ended.error == f"{folder}/test/dog/0.jpeg was changed since the training: restore it, or train again"


def test_a_class_without_images_is_named(folder: Path) -> None:
    (folder / "train" / "emu").mkdir()

    with pytest.raises(UserError, match=r"/train/emu has no \.jpeg or \.jpg files: add some or remove the folder"):
        Images().split(ImagesOptions(data=str(folder)))


def test_one_class_is_too_few(tmp_path: Path) -> None:
    (tmp_path / "train" / "cat").mkdir(parents=True)

    with pytest.raises(UserError, match="/train has 1 folder: it must have one for each class, and two at least"):
        Images().split(ImagesOptions(data=str(tmp_path)))


def test_a_folder_without_held_out_images_is_reported(folder: Path) -> None:
    for path in folder.glob("test/*/*"):
        path.unlink()

    with pytest.raises(UserError, match=r"/test has no \.jpeg or \.jpg files below cat, dog: add some"):
        Images().split(ImagesOptions(data=str(folder)))
