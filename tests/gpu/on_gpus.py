"""Fashion-MNIST, images and the replicator on one and on all GPUs of this machine, as the real processes they are.

Needs `requirements/gpu.txt`; `make test-gpu` installs it where there is a GPU, and runs this with `-s` for the figures.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.gpu.present import gpus
from tests.trainer.processes import REPOSITORY, Ended, Trainer

COUNT = len(gpus())
NUMBERS = [1] if COUNT == 1 else [1, COUNT]
GROWTH = """
from qtj_trainer.replicate import Replicator

with Replicator(devices=0) as replicator:
    import tensorflow as tf

    seen = tf.config.list_physical_devices("GPU")
    print("grows", [tf.config.experimental.get_memory_growth(each) for each in seen])
    print("replicas", replicator.replicas)
"""
RATE = re.compile(r" (\d+) examples/s")


@pytest.fixture(scope="module")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """Starts trainer processes."""
    with ExitStack() as cleanup:
        yield Trainer(tmp_path_factory.mktemp("trainer"), cleanup)


@pytest.fixture(scope="module")
def images(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder of images in four classes."""
    folder = tmp_path_factory.mktemp("images")
    subprocess.run([sys.executable, REPOSITORY / "examples" / "make_images.py", folder], check=True)
    return folder


@pytest.fixture(scope="module")
def figures() -> Iterator[list[str]]:
    """Collects what was measured, and tells it at the end."""
    lines: list[str] = []
    yield lines
    print("\n| program | GPUs | in its last epoch | from start to end |\n|---|---|---|---|")
    print("\n".join(lines))


def test_tensorflow_sees_every_gpu_and_takes_memory_as_it_needs_it(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "growth.py"
    program.write_text(GROWTH)

    ended = trainer.start_program(program).end()

    assert ended.code == 0, ended.errors
    assert ended.output.splitlines() == [f"grows {[True] * COUNT}", f"replicas {COUNT}"], ended.errors


@pytest.mark.parametrize("number", NUMBERS)
def test_fashion_mnist_learns(trainer: Trainer, tmp_path: Path, figures: list[str], number: int) -> None:
    arguments = ("fashion-mnist", "--epochs", "3", "--examples", "4000", "--batch-size", "256")

    trained = train(trainer, figures, number, *arguments, "--artifacts", str(tmp_path))
    inferred = trainer.run("infer", "--artifacts", str(tmp_path))

    assert trained.metrics["accuracy"] > 0.5
    assert inferred.code == 0, inferred.errors
    assert inferred.metrics == pytest.approx({name: trained.metrics[name] for name in inferred.metrics}, abs=1e-2)


@pytest.mark.parametrize("number", NUMBERS)
def test_images_are_learned(trainer: Trainer, images: Path, tmp_path: Path, figures: list[str], number: int) -> None:
    arguments = ("images", "--data", str(images), "--size", "64", "--epochs", "3", "--batch-size", "16")

    trained = train(trainer, figures, number, *arguments, "--artifacts", str(tmp_path))

    assert trained.metrics["accuracy"] >= 0.5


@pytest.mark.parametrize("number", NUMBERS)
def test_the_replicator_finds_the_line(trainer: Trainer, figures: list[str], number: int) -> None:
    started = time.monotonic()

    ended = trainer.start_program(REPOSITORY / "examples" / "replicator.py", QTJ_DEVICES=str(number)).end()

    assert ended.code == 0, ended.errors
    assert f"slope 3.0000  replicas {number}" in ended.output
    figures.append(f"| replicator | {number} | 100 steps | {time.monotonic() - started:.1f} s |")


def train(trainer: Trainer, figures: list[str], number: int, *arguments: str) -> Ended:
    """Trains on so many GPUs, and notes how fast."""
    started = time.monotonic()
    ended = trainer.run("train", *arguments, "--devices", str(number))
    assert ended.code == 0, ended.errors
    assert f"training on {', '.join(f'GPU:{index}' for index in range(number))}\n" in ended.output, ended.errors
    rate = RATE.findall(ended.output)[-1]
    figures.append(f"| {arguments[0]} | {number} | {rate} examples/s | {time.monotonic() - started:.1f} s |")
    return ended
