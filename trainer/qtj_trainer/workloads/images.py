"""Any folder of images sorted into classes, for example retinal scans: VGG16, of which the last layers are trained.

<data>/train/<class>/*.jpeg         the training set
<data>/test/<class>/*.jpeg          the held-out set

Simonyan, Zisserman, "Very deep convolutional networks for large-scale image recognition" (2014), arXiv:1409.1556.
"""

import hashlib
import json
import logging
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from qtj_trainer.errors import UserError
from qtj_trainer.storage import open_store, read_uri
from qtj_trainer.workloads.classification import Classification
from qtj_trainer.workloads.options import Options, option
from qtj_trainer.workloads.workload import Arrays, Examples, Split

if TYPE_CHECKING:
    from collections.abc import Callable

    import tensorflow as tf
    import tf_keras
    from numpy.typing import NDArray

__all__ = ["Images", "ImagesOptions"]

_SUFFIXES = (".jpeg", ".jpg")
_NO_IMAGES = f"no {' or '.join(_SUFFIXES)} files"
_FREE_LAYERS = 4
"""Layers of VGG16 that are trained, the last ones, as in the original: the last block of convolutions."""

_READERS = 16

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, kw_only=True)
class ImagesOptions(Options):
    """Options of the image classifier."""

    epochs: int = option(5, "Passes over the training examples.", at_least=1, at_most=1_000_000)
    learning_rate: float = option(0.0001, "Step size of the optimizer.", above=0, at_most=10)
    data: str = option("", "Folder with train/CLASS/*.jpeg and test/CLASS/*.jpeg: gs://BUCKET/PATH or a folder.")
    weights: str = option("", "VGG16 without its top, as an HDF5 file of Keras: gs://..., or a path. Random if empty.")
    size: int = option(224, "Side of the square to which images are resized, in pixels.", at_least=32, at_most=1024)
    data_sha256: str = option(
        "", "The digest that the names and sizes of all images must have. [default: the one they have]", added=True
    )
    weights_sha256: str = option(
        "", "The digest that the file of --weights must have. [default: the one it has]", added=True
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if not self.data:
            raise UserError("images needs --data: a folder with train/CLASS/*.jpeg and test/CLASS/*.jpeg")
        if self.weights_sha256 and not self.weights:
            raise UserError("--weights-sha256 is the digest of a file, and --weights names none: leave it out")

    def completed(self) -> Self:
        """Returns the options with digests of the data and of the initial weights.

        That of the data covers names and sizes, because reading all images would take as long as an epoch.

        Raises:
            UserError: If one of them is not the digest that the options have.
        """
        data = _matching("data", self.data, _listing_digest(self.data), self.data_sha256)
        weights = hashlib.sha256(read_uri(self.weights)).hexdigest() if self.weights else ""
        weights = _matching("weights", self.weights, weights, self.weights_sha256)
        return replace(self, data_sha256=data, weights_sha256=weights)

    def affecting_numbers(self) -> dict[str, Any]:
        """See `Options.affecting_numbers`. The digest of the data replaces its address."""
        values = super().affecting_numbers()
        return {name: value for name, value in values.items() if name != "data" or not self.data_sha256}


def _matching(name: str, address: str, found: str, wanted: str) -> str:
    if wanted.lower() not in {"", found}:
        raise UserError(
            f"{address} has the digest {found[:12]} and not {wanted[:12]}: it was changed, so restore it, or train with"
            f" another --{name}-sha256"
        )
    return found


class Images(Classification):
    """VGG16 with a softmax head."""

    name: ClassVar[str] = "images"
    summary: ClassVar[str] = "VGG16, its last layers trained on any folder of images sorted into classes."
    options: ClassVar[type[Options]] = ImagesOptions

    def split(self, options: ImagesOptions) -> Split:
        """Lists the addresses of the images and the numbers of their classes, in the order of the classes' names."""
        classes = _classes(options.data)
        parts = [_listed(options.data, part, classes) for part in ("train", "test")]
        log.info("data: %d images of %d classes from %s", len(parts[0]["label"]), len(classes), options.data)
        return Split(training=parts[0], held_out=parts[1])

    def sealed(self, examples: Arrays) -> Arrays:
        """Adds the digest of each image. Reading them takes less than evaluating them once."""
        return {**examples, "sha256": np.array(_digests(examples["uri"]))}

    def verify(self, examples: Arrays) -> None:
        """Compares the images with their digests. A training of an earlier version has stored none."""
        if "sha256" not in examples:
            return
        for uri, before, now in zip(examples["uri"], examples["sha256"], _digests(examples["uri"]), strict=True):
            if before != now:
                raise UserError(f"{uri} was changed since the training: restore it, or train again")

    def encode(self, examples: Arrays, options: ImagesOptions) -> Examples:
        """Returns the addresses and a function that reads an image, for the input pipeline."""
        uris = examples["uri"]
        local = not any(uri.startswith("gs://") for uri in uris)
        return Examples(uris, examples["label"].astype(np.float32), _decoder(options.size, local=local))

    def model(self, options: ImagesOptions) -> "tf_keras.Model":
        """Builds VGG16 without its top, with all but its last four layers frozen, and a softmax over the classes."""
        import tf_keras

        base = tf_keras.applications.VGG16(
            include_top=False, weights=None, input_shape=(options.size, options.size, 3), pooling="avg"
        )
        _initialise(base, options)
        for layer in base.layers[: -_FREE_LAYERS - 1]:  # the last one is the average, without weights
            layer.trainable = False
        glorot = tf_keras.initializers.GlorotUniform(options.seed)
        head = tf_keras.layers.Dense(
            len(_classes(options.data)), activation="softmax", kernel_initializer=glorot, name="classes"
        )
        return tf_keras.Model(base.input, head(base.output), name=self.name)

    def classes(self, options: ImagesOptions) -> tuple[str, ...]:
        """Returns the names of the folders."""
        return _classes(options.data)

    def fingerprint(self, options: ImagesOptions) -> str:
        """Returns a digest of the size, the classes and the address of the initial weights."""
        structure = f"vgg16 {options.size} {_classes(options.data)} {options.weights}"
        return hashlib.sha256(structure.encode()).hexdigest()


@lru_cache(maxsize=4)
def _classes(data: str) -> tuple[str, ...]:
    with closing(open_store(data)) as store:
        names = tuple(name.rpartition("/")[2] for name in store.folders("train"))
    if len(names) < 2:
        folders = "1 folder" if len(names) == 1 else f"{len(names)} folders"
        raise UserError(f"{data}/train has {folders}: it must have one for each class, and two at least")
    return names


def _listed(data: str, part: str, classes: tuple[str, ...]) -> dict[str, Any]:
    uris, labels = [], []
    with closing(open_store(data)) as store:
        for number, name in enumerate(classes):
            images = [each for each in store.list(f"{part}/{name}") if each.lower().endswith(_SUFFIXES)]
            if not images and part == "train":
                raise UserError(f"{data}/train/{name} has {_NO_IMAGES}: add some or remove the folder")
            uris += [f"{data.rstrip('/')}/{each}" for each in images]
            labels += [number] * len(images)
    if not uris:
        raise UserError(f"{data}/{part} has {_NO_IMAGES} below {', '.join(classes)}: add some")
    return {"uri": np.array(uris), "label": np.array(labels, np.int32)}


def _listing_digest(data: str) -> str:
    """Returns a digest of the names and sizes of all images."""
    digest = hashlib.sha256()
    with closing(open_store(data)) as store:
        for part in ("train", "test"):
            for folder in _classes(data):
                sizes = store.sizes(f"{part}/{folder}")
                images = {name: size for name, size in sizes.items() if name.lower().endswith(_SUFFIXES)}
                digest.update(json.dumps(images).encode())
    return digest.hexdigest()


def _digests(uris: "NDArray[np.str_]") -> list[str]:
    """Returns the digests of images, several of which are read at a time: a bucket takes long to answer."""
    with ThreadPoolExecutor(_READERS) as readers:
        return list(readers.map(lambda uri: hashlib.sha256(read_uri(str(uri))).hexdigest(), uris))


def _decoder(size: int, *, local: bool) -> "Callable[[tf.Tensor], tf.Tensor]":
    """Returns a function that reads, decodes and resizes an image, and subtracts ImageNet's mean colour, as for VGG16.

    It maps an address to float32 (size, size, 3).
    """
    import tensorflow as tf
    import tf_keras

    def fetch(uri: bytes) -> bytes:
        return read_uri(uri.decode())

    def decode(uri: tf.Tensor) -> tf.Tensor:
        # TensorFlow reads local files without Python's lock. Other stores need `read_uri`.
        data = tf.io.read_file(uri) if local else tf.numpy_function(fetch, [uri], tf.string)
        image = tf.image.resize(tf.io.decode_jpeg(data, channels=3), (size, size))
        return tf_keras.applications.vgg16.preprocess_input(tf.ensure_shape(image, (size, size, 3)))

    return decode


def _initialise(base: "tf_keras.Model", options: ImagesOptions) -> None:
    if options.weights:
        _load(base, options.weights)
        return
    import tf_keras

    for number, variable in enumerate(each for each in base.variables if "kernel" in each.name):
        variable.assign(tf_keras.initializers.GlorotUniform(options.seed + number)(variable.shape))
    log.info("weights: random, because --weights is not set: the frozen layers have learned nothing")


def _load(base: "tf_keras.Model", weights: str) -> None:
    from qtj_trainer.weights import load_weights

    load_weights(base, read_uri(weights), otherwise=f"{weights} are not the weights of VGG16 without its top")
    log.info("weights: %s", weights)
