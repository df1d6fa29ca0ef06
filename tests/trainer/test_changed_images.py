"""Images and initial weights that were changed since a training: inference refuses them, and no checkpoint fits."""

import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from PIL import Image

from qtj_trainer.errors import UserError
from qtj_trainer.storage import open_store
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes
from qtj_trainer.stored.checkpoints import Checkpoints
from qtj_trainer.stored.position import Position
from qtj_trainer.workloads import Arrays
from qtj_trainer.workloads.images import Images, ImagesOptions

CLASSES = ("cat", "dog")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Two classes of two images each, for training and for the held-out set, all of different sizes."""
    for part in ("train", "test"):
        for name in CLASSES:
            images = tmp_path / "data" / part / name
            images.mkdir(parents=True)
            for number in range(2):
                side = 40 + 8 * number + 16 * (name == "dog")
                Image.effect_noise((side, side), 50).convert("RGB").save(images / f"{number}.jpeg")
    return tmp_path / "data"


def stored(folder: Path) -> Arrays:
    held_out = Images().split(ImagesOptions(data=str(folder))).held_out
    return arrays_from_bytes(arrays_to_bytes(Images().sealed(held_out)))


def swap(folder: Path) -> None:
    (folder / "cat").rename(folder / "other")
    (folder / "dog").rename(folder / "cat")
    (folder / "other").rename(folder / "dog")


def test_inference_refuses_images_whose_classes_were_swapped(folder: Path) -> None:
    examples = stored(folder)
    Images().verify(examples)

    swap(folder / "test")

    with pytest.raises(UserError) as refused:
        Images().verify(examples)
    first = folder / "test" / "cat" / "0.jpeg"
    assert str(refused.value) == f"{first} was changed since the training: restore it, or train again"


def test_inference_refuses_an_image_of_the_same_size_and_time(folder: Path) -> None:
    examples, image = stored(folder), folder / "test" / "dog" / "1.jpeg"
    before, data = image.stat(), bytearray(image.read_bytes())

    data[-10] ^= 1
    image.write_bytes(data)
    os.utime(image, ns=(before.st_atime_ns, before.st_mtime_ns))

    with pytest.raises(UserError, match=r"dog/1\.jpeg was changed"):
        Images().verify(examples)


def test_a_copy_of_the_images_with_new_times_is_the_same(folder: Path) -> None:
    examples = stored(folder)

    for image in folder.glob("test/*/*"):
        os.utime(image, (0, 0))

    Images().verify(examples)


def test_a_record_from_before_the_digests_is_taken_as_it_is(folder: Path) -> None:
    examples = Images().split(ImagesOptions(data=str(folder))).held_out
    swap(folder / "test")

    Images().verify(examples)


def options(folder: Path, **more: Any) -> ImagesOptions:
    return ImagesOptions(data=str(folder), **more).completed()


def replace_one(folder: Path) -> None:
    (folder / "train" / "cat" / "0.jpeg").write_bytes(b"another image")


@pytest.mark.parametrize(
    "change",
    [
        replace_one,
        lambda folder: (folder / "train" / "cat" / "0.jpeg").rename(folder / "train" / "cat" / "2.jpeg"),
        lambda folder: (folder / "test" / "dog" / "1.jpeg").unlink(),
        lambda folder: swap(folder / "train"),
    ],
    ids=["replaced", "renamed", "removed", "swapped"],
)
def test_a_checkpoint_of_other_images_is_not_resumed(
    folder: Path, tmp_path: Path, change: Callable[[Path], object], caplog: pytest.LogCaptureFixture
) -> None:
    store = open_store(str(tmp_path / "artifacts"))
    before = options(folder)
    Checkpoints(store, "uid", Images(), before).save(Position(), [])
    assert Checkpoints(store, "uid", Images(), options(folder)).newest()

    change(folder)

    assert Checkpoints(store, "uid", Images(), options(folder)).newest() is None
    assert "what --data names was changed since" in caplog.text


def test_other_initial_weights_under_the_same_name_are_another_training(folder: Path, tmp_path: Path) -> None:
    weights = tmp_path / "vgg16.h5"
    weights.write_bytes(b"first")
    before = options(folder, weights=str(weights)).affecting_numbers()
    assert options(folder, weights=str(weights)).affecting_numbers() == before

    weights.write_bytes(b"other")

    assert options(folder, weights=str(weights)).affecting_numbers() != before


def test_a_folder_that_was_moved_is_the_same_data(folder: Path, tmp_path: Path) -> None:
    before = options(folder).affecting_numbers()

    assert options(folder.rename(tmp_path / "moved")).affecting_numbers() == before


def test_digests_that_are_asked_for_must_match(folder: Path) -> None:
    digest = options(folder).data_sha256
    assert options(folder, data_sha256=digest.upper()).data_sha256 == digest

    with pytest.raises(UserError, match="and not aaaa: it was changed, so restore it, or train with another --data"):
        options(folder, data_sha256="aaaa")
    with pytest.raises(UserError, match="--weights-sha256 is the digest of a file, and --weights names none"):
        options(folder, weights_sha256="aaaa")
