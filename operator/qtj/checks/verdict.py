"""What `qtj validate` says of a file, for programs."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from qtj.checks.validate import validate_files
from qtj.terminal.errors import InputError

__all__ = ["verdict_on"]


def verdict_on(path: Path) -> Mapping[str, Any]:
    """Returns whether a file is valid, and its mistakes: a sentence each, as `qtj validate` prints them."""
    try:
        validate_files([path])
    except InputError as problem:
        return {"file": str(path), "valid": False, "mistakes": str(problem).splitlines()}
    return {"file": str(path), "valid": True, "mistakes": []}
