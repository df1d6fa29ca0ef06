"""Workloads, programs and the replicator on one and on all GPUs of this machine, as the real processes they are.

Needs `requirements/gpu.txt`; `make test-gpu` installs it where there is a GPU, and runs this with `-s` for the figures.
"""

import re
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.gpu.present import gpus
from tests.trainer.processes import REPOSITORY, Ended, Trainer

COUNT = len(gpus())
NUMBERS = [0, 1] if COUNT == 1 else [0, 1, COUNT]
"""Of GPUs that train; with 0, the processor does."""
USED = """
import subprocess

from qtj_trainer{start}

import tensorflow as tf

tf.random.normal((8,))
query = ["nvidia-smi", "--query-gpu=memory.used,memory.total", "--format=csv,noheader,nounits"]
answer = subprocess.run(query, check=True, capture_output=True)
print(len(tf.config.list_physical_devices("GPU")), answer.stdout.decode())
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


@dataclass(frozen=True)
class Figure:
    """How fast a program trained on so many GPUs, and how long it took from start to end."""

    program: str
    gpus: int
    rate: float
    seconds: float


@pytest.fixture(scope="module")
def figures() -> Iterator[list[Figure]]:
    """Collects what was measured, and prints it at the end beside what the processor of the same machine does."""
    found: list[Figure] = []
    yield found
    alone = {figure.program: figure.rate for figure in found if not figure.gpus}
    print("\n| program | GPUs | examples/s in its last epoch | times the processor | from start to end |")
    print("|---|---|---|---|---|")
    for each in found:
        ratio = f"{each.rate / alone[each.program]:.2f}" if each.program in alone else ""
        print(f"| {each.program} | {each.gpus} | {each.rate:.0f} | {ratio} | {each.seconds:.1f} s |")


@pytest.mark.parametrize(
    "start",
    [" import Program; Program(epochs=1)", ".replicate import Replicator; Replicator()", " import tfq"],
    ids=["own program", "replicator", "layer"],
)
def test_every_gpu_is_seen_and_its_memory_is_taken_as_it_is_needed(
    trainer: Trainer, tmp_path: Path, start: str
) -> None:
    program = tmp_path / "used.py"
    program.write_text(USED.format(start=start))

    ended = trainer.start_program(program, QTJ_ARTIFACTS_URI=str(tmp_path)).end()

    assert ended.code == 0, ended.errors
    count, *numbers = [int(number) for number in re.findall(r"\d+", ended.output)]
    assert count == COUNT
    assert all(used < total / 4 for used, total in zip(numbers[::2], numbers[1::2], strict=True)), numbers


@pytest.mark.parametrize("number", NUMBERS)
def test_fashion_mnist_learns(trainer: Trainer, tmp_path: Path, figures: list[Figure], number: int) -> None:
    arguments = ("fashion-mnist", "--epochs", "3", "--examples", "10000", "--batch-size", "500")

    trained = train(trainer, figures, number, *arguments, "--artifacts", str(tmp_path))
    inferred = trainer.run("infer", "--artifacts", str(tmp_path))

    assert trained.metrics["accuracy"] > 0.5
    assert inferred.code == 0, inferred.errors
    assert inferred.metrics == pytest.approx({name: trained.metrics[name] for name in inferred.metrics}, abs=1e-2)


@pytest.mark.parametrize("number", NUMBERS)
def test_images_are_learned(trainer: Trainer, images: Path, tmp_path: Path, figures: list[Figure], number: int) -> None:
    arguments = ("images", "--data", str(images), "--size", "64", "--epochs", "3", "--batch-size", "16")

    trained = train(trainer, figures, number, *arguments, "--artifacts", str(tmp_path))

    assert trained.metrics["accuracy"] >= 0.5


@pytest.mark.parametrize("number", NUMBERS)
def test_a_hybrid_model_learns(trainer: Trainer, tmp_path: Path, figures: list[Figure], number: int) -> None:
    trained = train(trainer, figures, number, "qcnn", "--epochs", "5", "--artifacts", str(tmp_path))

    assert trained.metrics["signAccuracy"] > 0.9


@pytest.mark.parametrize("number", NUMBERS[1:])
def test_the_replicator_finds_the_line(trainer: Trainer, number: int) -> None:
    ended = trainer.start_program(REPOSITORY / "examples" / "replicator.py", QTJ_DEVICES=str(number)).end()

    assert ended.code == 0, ended.errors
    assert f"slope 3.0000  replicas {number}" in ended.output


def train(trainer: Trainer, figures: list[Figure], number: int, *arguments: str) -> Ended:
    """Trains on so many GPUs, and notes how fast."""
    started = time.monotonic()
    chosen = ("--devices", str(number)) if number else ()
    hidden = {} if number else {"CUDA_VISIBLE_DEVICES": ""}
    ended = trainer.run("train", *arguments, *chosen, **hidden)
    assert ended.code == 0, ended.errors
    devices = re.findall(r"training on (.*)", ended.output)
    assert devices == ([", ".join(f"GPU:{index}" for index in range(number))] if number else []), ended.errors
    rate = float(RATE.findall(ended.output)[-1])
    figures.append(Figure(arguments[0], number, rate, time.monotonic() - started))
    return ended
