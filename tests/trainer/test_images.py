"""Images in class-named folders: found, decoded in parallel, and learned by the last layers of VGG16."""

from pathlib import Path

import numpy as np
import pytest
import tf_keras
from PIL import Image

from qtj_trainer.errors import UserError
from qtj_trainer.loop.batches import Batch, batches
from qtj_trainer.workloads.images import Images, ImagesOptions
from tests.trainer.processes import Trainer

CLASSES = ("CNV", "DME", "DRUSEN", "NORMAL")
COLOURS = ((230, 20, 20), (20, 230, 20), (20, 20, 230), (230, 230, 20))


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Four classes, each of its own colour: 6 images for training and 2 held out."""
    root = tmp_path_factory.mktemp("images")
    random = np.random.default_rng(0)
    for part, count in (("train", 6), ("test", 2)):
        for name, colour in zip(CLASSES, COLOURS, strict=True):
            (root / part / name).mkdir(parents=True)
            for number in range(count):
                noisy = np.clip(np.array(colour) + random.normal(0, 15, (40, 50, 3)), 0, 255).astype(np.uint8)
                Image.fromarray(noisy).save(root / part / name / f"{number}.jpeg")
    (root / "train" / "CNV" / "notes.txt").touch()
    return root


def test_every_image_is_found_with_its_class(folder: Path) -> None:
    split = Images().split(ImagesOptions(data=str(folder)))

    assert [len(split.training["label"]), len(split.held_out["label"])] == [24, 8]
    for uri, label in zip(split.training["uri"], split.training["label"], strict=True):
        assert Path(uri).parent.name == CLASSES[label]


def test_images_are_decoded_and_resized(folder: Path) -> None:
    options = ImagesOptions(data=str(folder), size=32)
    examples = Images().encode(Images().split(options).training, options)

    batch = Batch(*next(iter(batches(examples, 5, seed=1))))

    assert batch.inputs.shape == (5, 32, 32, 3)
    # Blue, green, red, without the mean colour of ImageNet.
    means = np.mean(batch.inputs, axis=(1, 2)) + np.array([103.939, 116.779, 123.68])
    colours = np.array(COLOURS)[batch.labels.numpy().astype(int)][:, ::-1]
    np.testing.assert_allclose(means, colours, atol=15)


def test_only_the_last_layers_learn(folder: Path) -> None:
    model = Images().model(ImagesOptions(data=str(folder), size=32))

    learning = {variable.name.partition("/")[0] for variable in model.trainable_variables}

    assert learning == {"block5_conv1", "block5_conv2", "block5_conv3", "classes"}


def test_stored_weights_are_the_initial_weights(folder: Path, tmp_path: Path) -> None:
    base = tf_keras.applications.VGG16(include_top=False, weights=None, input_shape=(32, 32, 3))
    base.save_weights(tmp_path / "vgg16.h5")

    model = Images().model(ImagesOptions(data=str(folder), size=32, weights=str(tmp_path / "vgg16.h5")))

    for layer in ("block1_conv1", "block5_conv3"):
        for one, other in zip(base.get_layer(layer).get_weights(), model.get_layer(layer).get_weights(), strict=True):
            np.testing.assert_array_equal(one, other)


def test_a_folder_without_classes_is_named(tmp_path: Path) -> None:
    with pytest.raises(UserError, match="/train has 0 folders: it must have one for each class"):
        Images().split(ImagesOptions(data=str(tmp_path)))


def test_four_classes_are_trained_and_evaluated(trainer: Trainer, folder: Path, tmp_path: Path) -> None:
    artifacts = ("--artifacts", str(tmp_path))
    options = ("--size", "32", "--epochs", "3", "--batch-size", "8", "--checkpoint-every", "0")

    trained = trainer.run("train", "images", "--data", str(folder), *options, *artifacts)
    inferred = trainer.run("infer", *artifacts)

    assert (trained.code, inferred.code) == (0, 0), trained.errors + inferred.errors
    assert "weights: random" in trained.output
    assert "24 images of 4 classes" in trained.output
    assert trained.output.count(" examples/s") == 3
    assert trained.metrics["accuracy"] >= 0.5
    assert inferred.metrics == pytest.approx({name: trained.metrics[name] for name in inferred.metrics}, abs=1e-4)
