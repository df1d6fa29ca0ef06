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

from qtj_trainer.simulate.fused.build import SOURCES, build
from qtj_trainer.simulate.fused.engine import Engine
from qtj_trainer.simulate.fused.packed import packed
from qtj_trainer.simulate.fused.plan import Plan
from qtj_trainer.simulate.fused.program import compile_plans

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
        subprocess.run([*shlex.split(compiler), "-O1", *flags, "-I", SOURCES, *files], check=True)
        return cls(folder, runner)

    def results(self, plan: Plan, threads: int, numbers: Numbers) -> Array:
        """Returns values, gradients by inputs and gradients by weights, one after the other.

        Raises:
            AssertionError: If it fails; the message is its output.
        """
        inputs, weights, upstream = numbers
        data = packed(compile_plans([plan]))
        header = np.array([len(data), *inputs.shape, weights.size, upstream.shape[1], threads], np.int64)
        asked = [header, np.frombuffer(data, np.uint8), inputs, weights, upstream]
        (self.folder / "input").write_bytes(b"".join(np.ascontiguousarray(each).tobytes() for each in asked))
        command = [*self.runner, str(self.folder / "driver"), str(self.folder / "input")]
        answer = subprocess.run(command, env=os.environ | {"LD_PRELOAD": ""}, capture_output=True, check=False)
        assert answer.returncode == 0, answer.stderr.decode()[-3000:]
        return np.frombuffer(answer.stdout)


def in_python(engine: Engine, numbers: Numbers) -> Array:
    """Returns the same from an engine in this process."""
    inputs, weights, upstream = numbers
    values = engine.values(inputs, weights)
    by_inputs, by_weights = engine.gradients(inputs, weights, upstream)
    return np.concatenate([values.ravel(), by_inputs.ravel(), by_weights])
