"""The native engine in a program of its own, for processors and tools that Python does not run with."""

import os
import shlex
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from qtj_simulator.fused.build import SOURCES, build
from qtj_simulator.fused.engine import Engine
from qtj_simulator.fused.plan import Plan
from qtj_simulator.fused.program import compile_plans, packed

__all__ = ["Array", "Driver", "Numbers", "in_python"]

Array = NDArray[Any]
Numbers = tuple[Array, Array, Array]
"""Inputs, weights and upstream."""


@dataclass(frozen=True, slots=True)
class Driver:
    """native_driver.c and other programs with the library, compiled for some machine.

    Attributes:
        folder: Where they are.
        runner: The words before their names on a command line: an emulator.
    """

    folder: Path
    runner: tuple[str, ...] = ()

    @classmethod
    def built(
        cls,
        folder: Path,
        compiler: str,
        *,
        machine: str,
        flags: tuple[str, ...] = (),
        runner: tuple[str, ...] = (),
        programs: tuple[str, ...] = ("native_driver", "native_trajectories"),
    ) -> "Driver":
        """Compiles it."""
        with pytest.MonkeyPatch.context() as patch:
            patch.setenv("CC", compiler)
            build(folder / "libqtj_fused.so", flags, machine)
        for name in programs:
            files: list[str | Path] = [Path(__file__).with_name(f"{name}.c"), folder / "libqtj_fused.so"]
            options: list[str | Path] = [*flags, "-I", SOURCES, "-Wl,-rpath,$ORIGIN", "-o", folder / name]
            subprocess.run([*shlex.split(compiler), "-O1", *files, *options], check=True)
        return cls(folder, runner)

    def results(self, plan: Plan, threads: int, numbers: Numbers, *, is_double: bool = False) -> Array:
        """Returns values, gradients and second derivatives, as `in_python` does.

        Raises:
            AssertionError: If it fails; the message is its output.
        """
        inputs, weights, upstream = numbers
        data = packed(compile_plans([plan]))
        header = np.array(
            [len(data), *inputs.shape, weights.size, upstream.shape[1], threads, int(is_double)], np.int64
        )
        asked: list[Array] = [header, np.frombuffer(data, np.uint8), inputs, weights, upstream]
        return np.frombuffer(self._answer("native_driver", asked))

    def trajectories(self, header: list[int], arrays: list[Array]) -> Array:
        """Returns values and gradients by matrices of a noisy circuit, float32, one after the other.

        Args:
            header: The sizes that native_trajectories.c begins with.
            arrays: What it then reads.

        Raises:
            AssertionError: If it fails; the message is its output.
        """
        return np.frombuffer(self._answer("native_trajectories", [np.array(header, np.int64), *arrays]), np.float32)

    def survived(self, programs: Sequence[Sequence[bytes]], what: str) -> int:
        """Runs programs that may be damaged by native_fuzz.c; returns how many the engine did not refuse.

        Raises:
            AssertionError: If a sanitizer finds something; the message is its output.
        """
        records = [np.frombuffer(each, np.uint8) for record in programs for each in record]
        asked: list[Array] = [np.array([len(programs)], np.int64), *records]
        try:
            return int(np.frombuffer(self._answer("native_fuzz", asked), np.int64)[0])
        except AssertionError as problem:
            raise AssertionError(f"{what}: {problem}") from None

    def _answer(self, name: str, asked: list[Array]) -> bytes:
        (self.folder / "input").write_bytes(b"".join(np.ascontiguousarray(each).tobytes() for each in asked))
        command = [*self.runner, str(self.folder / name), str(self.folder / "input")]
        answer = subprocess.run(command, env=os.environ | {"LD_PRELOAD": ""}, capture_output=True, check=False)
        assert answer.returncode == 0, answer.stderr.decode()[-3000:]
        return answer.stdout


def in_python(engine: Engine, numbers: Numbers) -> Array:
    """Returns the same from an engine in this process: one after the other.

    Values, gradients by inputs and by weights; and the second derivatives along the inputs, by inputs, weights and
    upstream.
    """
    inputs, weights, upstream = numbers
    values = engine.values(inputs, weights)
    first = engine.gradients(inputs, weights, upstream)
    second = engine.curvature(inputs, weights, upstream, (inputs, np.zeros_like(weights)))
    return np.concatenate([each.ravel() for each in (values, *first, *second)])
