"""Fashion-MNIST: small grey images of ten classes of clothes, and a small convolutional network.

Xiao, Rasul, Vollgraf, "Fashion-MNIST: a novel image dataset for benchmarking machine learning algorithms" (2017),
arXiv:1708.07747. Its four files are read from `--data`; without it, images of the same format are generated.
"""

import gzip
import hashlib
import logging
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from qtj_trainer.errors import UserError
from qtj_trainer.storage import MissingObjectError, read_uri
from qtj_trainer.workloads.classification import Classification
from qtj_trainer.workloads.options import Options, option
from qtj_trainer.workloads.workload import Arrays, Examples, Split

if TYPE_CHECKING:
    import tf_keras

__all__ = ["FashionMnist", "FashionMnistOptions", "generated", "idx_array"]

_SIDE = 28
_KINDS = (
    "T-shirt/top", "Trouser", "Pullover", "Dress", "Coat", "Sandal", "Shirt", "Sneaker", "Bag", "Ankle boot",
)  # fmt: skip
_CLASSES = len(_KINDS)
_UNSIGNED_BYTES = 8
_TRAINING_SHARE = 0.8
_CONTRAST = 110
_NOISE = 40

log = logging.getLogger("qtj_trainer")


@dataclass(frozen=True, kw_only=True)
class FashionMnistOptions(Options):
    """Options of Fashion-MNIST."""

    epochs: int = option(5, "Passes over the training examples.", at_least=1, at_most=1_000_000)
    batch_size: int = option(64, "Examples in one optimizer step, over all workers together.", at_least=1)
    learning_rate: float = option(0.001, "Step size of the optimizer.", above=0, at_most=10)
    data: str = option(
        "", "Folder of the four IDX files: gs://BUCKET/PATH, file:///PATH or a folder. Generated if empty."
    )
    examples: int = option(1000, "Examples to generate where there is no --data.", at_least=20, at_most=1_000_000)


class FashionMnist(Classification):
    """Two convolutions and two dense layers."""

    name: ClassVar[str] = "fashion-mnist"
    summary: ClassVar[str] = "Convolutional network on Fashion-MNIST, or on generated images of its format."
    options: ClassVar[type[Options]] = FashionMnistOptions

    def split(self, options: FashionMnistOptions) -> Split:
        """Reads the files, with their own held-out set, or generates examples, of which 20 % are held out."""
        if options.data:
            log.info("data: Fashion-MNIST from %s", options.data)
            return Split(training=_read(options.data, "train"), held_out=_read(options.data, "t10k"))
        log.info("data: %d generated images, not Fashion-MNIST: set --data to its folder", options.examples)
        return Split.at(generated(options.examples, options.seed), _TRAINING_SHARE)

    def encode(self, examples: Arrays, options: FashionMnistOptions) -> Examples:
        """Returns the bytes unchanged: the model scales them."""
        del options
        return Examples(examples["image"][..., np.newaxis], examples["label"].astype(np.float32))

    def model(self, options: FashionMnistOptions) -> "tf_keras.Model":
        """Builds convolutions of 32 and 64 filters with maximum pooling, a dense layer of 64, a softmax of 10."""
        import tf_keras

        layers = tf_keras.layers
        seeds = [int(seed) for seed in np.random.SeedSequence(options.seed).generate_state(4) >> 1]
        glorot = [tf_keras.initializers.GlorotUniform(seed) for seed in seeds]
        return tf_keras.Sequential(
            [
                layers.InputLayer((_SIDE, _SIDE, 1), dtype="uint8", name="image"),
                layers.Rescaling(1 / 255, name="scale"),
                layers.Conv2D(32, 3, activation="relu", kernel_initializer=glorot[0], name="edges"),
                layers.MaxPooling2D(name="pool1"),
                layers.Conv2D(64, 3, activation="relu", kernel_initializer=glorot[1], name="parts"),
                layers.MaxPooling2D(name="pool2"),
                layers.Flatten(name="flat"),
                layers.Dense(64, activation="relu", kernel_initializer=glorot[2], name="hidden"),
                layers.Dense(_CLASSES, activation="softmax", kernel_initializer=glorot[3], name="kinds"),
            ],
            name="fashion_mnist",
        )

    def classes(self, options: FashionMnistOptions) -> tuple[str, ...]:
        """Returns the classes of clothes, or of the generated patterns."""
        return _KINDS if options.data else tuple(f"pattern {number}" for number in range(_CLASSES))

    def fingerprint(self, options: FashionMnistOptions) -> str:
        """Returns a digest of the layers' sizes, which no option changes."""
        del options
        return hashlib.sha256(b"28x28x1 conv 32 conv 64 dense 64 softmax 10").hexdigest()


def idx_array(data: bytes) -> NDArray[np.uint8]:
    """Decodes an IDX file of unsigned bytes.

    The format is that of MNIST: two zero bytes, the type, the number of dimensions, each dimension as a big-endian
    32-bit number, then the values.

    Args:
        data: The file, which may be compressed by gzip.

    Returns:
        uint8 values, in the shape that the file declares.

    Raises:
        ValueError: If it is not such a file, or has more or fewer values than its header declares.
    """
    if data[:2] == b"\x1f\x8b":
        data = gzip.decompress(data)
    if len(data) < 4 or data[:3] != bytes([0, 0, _UNSIGNED_BYTES]):
        raise ValueError("it does not start with the header of an IDX file of unsigned bytes")
    shape = np.frombuffer(data, ">u4", count=data[3], offset=4)
    values = np.frombuffer(data, np.uint8, offset=4 + 4 * data[3])
    if values.size != np.prod(shape, dtype=np.int64):
        raise ValueError(f"it has {values.size} values, and its header declares {'x'.join(map(str, shape))}")
    return values.reshape(shape)


def generated(count: int, seed: int) -> dict[str, NDArray[Any]]:
    """Generates images of the same format: each class has its own coarse pattern, with noise.

    Args:
        count: Number of images.
        seed: Seed of the noise and the order; the patterns are always the same.

    Returns:
        `image` uint8 (count, 28, 28) and `label` uint8 (count,).
    """
    coarse = np.random.default_rng(0).integers(0, 2, (_CLASSES, 7, 7))
    patterns = np.kron(coarse, np.ones((4, 4), int)) * _CONTRAST
    random = np.random.default_rng(seed)
    labels = random.integers(0, _CLASSES, count).astype(np.uint8)
    noise = random.normal(_NOISE, _NOISE, (count, _SIDE, _SIDE))
    return {"image": np.clip(patterns[labels] + noise, 0, 255).astype(np.uint8), "label": labels}


def _read(folder: str, part: str) -> dict[str, NDArray[Any]]:
    images, labels = _file(folder, f"{part}-images-idx3-ubyte"), _file(folder, f"{part}-labels-idx1-ubyte")
    if images.shape != (len(labels), _SIDE, _SIDE) or labels.max(initial=0) >= _CLASSES:
        raise UserError(
            f"{folder} has images of shape {images.shape} and {len(labels)} labels for {part}: it must be 28x28 images"
            " with one label from 0 to 9 each"
        )
    return {"image": images, "label": labels}


def _file(folder: str, name: str) -> NDArray[np.uint8]:
    base = f"{folder.rstrip('/')}/{name}"
    try:
        try:
            data = read_uri(f"{base}.gz")
        except MissingObjectError:
            data = read_uri(base)
        return idx_array(data)
    except MissingObjectError as problem:
        raise UserError(
            f"{base} does not exist, nor {name}.gz: --data must hold the four files of the set"
        ) from problem
    except (ValueError, OSError, EOFError) as problem:
        raise UserError(f"{base} cannot be read: {problem}; download the file again") from problem
