"""The example of a barren plateau: the variance of a gradient falls with the number of qubits."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from tests.local.laptop import REPOSITORY

PROGRAM = REPOSITORY / "examples/gradient_variance.py"


def variance(folder: Path, qubits: int) -> float:
    place = folder / str(qubits)
    place.mkdir()
    subprocess.run([sys.executable, PROGRAM, f"--qubits={qubits}", "--seed=1"], cwd=place, check=True)
    return float(json.loads((place / "qtj-artifacts/program/result.json").read_text())["metrics"]["variance"])


@pytest.mark.slow
def test_the_variance_falls_with_the_number_of_qubits(tmp_path: Path) -> None:
    few, many = variance(tmp_path, 2), variance(tmp_path, 6)

    assert 0 < many < few / 3
