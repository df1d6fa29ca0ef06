"""The native engine in a program of its own, for processors and tools that Python does not run with."""

import os
import shlex
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_trainer.simulate.fused.build import build
from qtj_trainer.simulate.fused.engine import Engine
from qtj_trainer.simulate.fused.plan import Plan
from qtj_trainer.simulate.fused.program import compile_plan

__all__ = ["Driver", "Numbers", "in_python"]

Array = NDArray[Any]
Numbers = tuple[Array, Array, Array]
"""Inputs, weights and upstream."""


@dataclass(frozen=True, slots=True)
class Driver:
    """native_driver.c with the library, compiled for some machine.

    Attributes:
        folder: Where it is.
        runner: The words before its name on a command line: an emulator.
    """

    folder: Path
    runner: tuple[str, ...] = ()

    @classmethod
    def built(
        cls, folder: Path, compiler: str, *, machine: str, flags: tuple[str, ...] = (), runner: tuple[str, ...] = ()
    ) -> "Driver":
        """Compiles it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CC", compiler)
            build(folder / "libqtj_fused.so", flags, machine)
        source = Path(__file__).with_suffix(".c")
        files: list[str | Path] = [source, folder / "libqtj_fused.so", "-Wl,-rpath,$ORIGIN", "-o", folder / "driver"]
        subprocess.run([*shlex.split(compiler), "-O1", *flags, *files], check=True)
        return cls(folder, runner)

    def results(self, plan: Plan, threads: int, numbers: Numbers) -> Array:
        """Returns values, gradients by inputs and gradients by weights, one after the other.

        Raises:
            AssertionError: If it fails; the message is its output.
        """
        inputs, weights, upstream = numbers
        program = compile_plan(plan)
        shared, example = program.angles(inputs, weights)
        sizes = [program.integers.size, program.constants.size, shared.size, example.shape[1], program.readouts]
        header = np.array([*sizes, len(inputs), threads], np.int64)
        asked = [header, program.integers, program.constants, shared, example, upstream]
        (self.folder / "input").write_bytes(b"".join(np.ascontiguousarray(each).tobytes() for each in asked))
        command = [*self.runner, str(self.folder / "driver"), str(self.folder / "input")]
        answer = subprocess.run(command, env=os.environ | {"LD_PRELOAD": ""}, capture_output=True, check=False)
        assert answer.returncode == 0, answer.stderr.decode()[-3000:]
        values, by_shared, by_example = np.split(
            np.frombuffer(answer.stdout), np.cumsum([upstream.size, shared.size])
        )  # fmt: skip
        by_inputs, by_weights = program.slopes(by_shared, by_example.reshape(example.shape))
        return np.concatenate([values, by_inputs.ravel(), by_weights])


def in_python(engine: Engine, numbers: Numbers) -> Array:
    """Returns the same from an engine in this process."""
    inputs, weights, upstream = numbers
    values, serial = engine.values(inputs, weights)
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream, serial)
    return np.concatenate([values.ravel(), by_inputs.ravel(), by_weights])
