"""Tests for Python with PyTorch, which `tests/trainer/test_torch.py` runs."""

from pathlib import Path

__all__ = ["PYTHON"]

PYTHON = Path(__file__).parents[2] / ".venv-torch" / "bin" / "python"
