"""`qtj run --dry-run`: what a run would create, and where."""

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qtj.local.rehearsal import Rehearsal
from qtj.preview.plan import memory_line
from qtj.terminal.errors import InputError
from qtj.terminal.text import name_list

__all__ = ["dry_run_lines"]


def dry_run_lines(manifest: Mapping[str, Any], rehearsal: Rehearsal, folder: Path, artifacts: str) -> Iterator[str]:
    """Yields the lines of a dry run about a checked job.

    Args:
        manifest: The job.
        rehearsal: What the operator would create for it.
        folder: Where its record and its logs would be.
        artifacts: Where its artifacts would be.

    Raises:
        InputError: The folder cannot be made or written to.
    """
    _refuse_unwritable(folder)
    yield f"{manifest['metadata']['name']} would train here"
    yield f"  processes  {name_list(rehearsal.pods)}"
    if rehearsal.inference:
        yield f"  inference  {rehearsal.inference['metadata']['name']}, once the weights are stored"
    yield f"  artifacts  {artifacts}"
    yield f"  record     {folder}"
    if memory := memory_line(manifest, rehearsal):
        yield memory


def _refuse_unwritable(folder: Path) -> None:
    """Refuses a folder that cannot be made. Makes nothing: it looks at the nearest parent folder that exists."""
    there = next(each for each in (folder, *folder.parents) if each.exists() or each.is_symlink())
    if not there.is_dir() or not os.access(there, os.W_OK | os.X_OK):
        why = "it is not writable" if there.is_dir() else "it is not a folder"
        raise InputError(f"cannot write to {folder} ({there}: {why}): choose another folder with --artifacts")
