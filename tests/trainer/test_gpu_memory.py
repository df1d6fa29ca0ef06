"""Memory that ends while training, and that of GPUs as far as a machine without one can tell."""

from pathlib import Path

import pytest

import qtj_contract as contract
from tests.trainer.processes import Trainer

IMPORTED = """
from qtj_trainer{start}

import os

print(os.environ["TF_FORCE_GPU_ALLOW_GROWTH"])
"""
FULL = """
import os
import runpy

import tensorflow as tf

physical = tf.config.list_physical_devices

def refuse(*_):
    raise tf.errors.InternalError(None, None, "cudaSetDevice() on GPU:0 failed.\\nStatus: out of memory")

tf.config.list_logical_devices = refuse
tf.config.list_physical_devices = lambda kind=None: os.environ["GPUS"].split() if kind == "GPU" else physical(kind)

runpy.run_module("qtj_trainer", run_name="__main__")
"""
LIMITED = """
import resource
import runpy

resource.setrlimit(resource.RLIMIT_AS, (4 << 30, 4 << 30))
runpy.run_module("qtj_trainer", run_name="__main__")
"""


@pytest.mark.parametrize("start", [" import Program", ".replicate import Replicator", " import tfq"])
@pytest.mark.parametrize(
    ("chosen", "growth"),
    [({}, "true"), pytest.param({"TF_FORCE_GPU_ALLOW_GROWTH": "false"}, "false", marks=pytest.mark.slow)],
)
def test_no_process_takes_the_whole_memory_of_a_gpu_unless_it_is_told_to(
    trainer: Trainer, tmp_path: Path, start: str, chosen: dict[str, str], growth: str
) -> None:
    program = tmp_path / "imported.py"
    program.write_text(IMPORTED.format(start=start))

    ended = trainer.alone.start_program(program, **chosen).end()

    assert (ended.code, ended.output) == (0, f"{growth}\n"), ended.errors


@pytest.mark.slow
def test_a_gpu_that_cannot_be_opened_is_one_sentence_and_another_try(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "full.py"
    program.write_text(FULL)

    arguments = ("train", "linear-regression", "--artifacts", str(tmp_path))
    ended = trainer.start_program(program, *arguments, GPUS="first").end()
    without = trainer.start_program(program, *arguments, GPUS="").end()

    assert (ended.code, ended.sentences) == (contract.EXIT_RETRY, [f"error: {ended.error}"]), ended.errors
    assert ended.error == (
        "cannot use the GPUs of this machine: end other programs that hold their memory "
        "(cudaSetDevice() on GPU:0 failed. Status: out of memory)"
    )
    assert (without.code, without.error.split(":")[0]) == (1, "unexpected InternalError"), "it has no GPU"


@pytest.mark.slow
def test_a_batch_that_is_too_large_for_the_memory_is_one_sentence(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "limited.py"
    program.write_text(LIMITED)
    arguments = ("--examples", "20000", "--batch-size", "10000", "--artifacts", str(tmp_path))

    ended = trainer.alone.start_program(program, "train", "fashion-mnist", *arguments).end()

    assert (ended.code, ended.sentences) == (1, [f"error: {ended.error}"]), ended.errors
    assert ended.error.startswith(
        "memory is full: take a smaller --batch-size, or a machine with more memory (OOM when"
    )
