"""`qtj render`: the manifests that the operator would create, to read or to check against a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from qtj.checks.job import check_file
from qtj.files.documents import read_file
from qtj.files.settings import Setting
from qtj.local.rehearsal import Rehearsal
from qtj.terminal.output_format import OutputFormat, formatted

__all__ = ["render_file"]

_PLACEHOLDER = "# Weights and their digest are known only after training: the values here stand for them.\n"


def render_file(path: Path, settings: list[str], form: OutputFormat | None = None) -> str:
    """Returns the manifests of all jobs of a file.

    Args:
        path: The file.
        settings: Fields to set.
        form: The form; None for a YAML file with one document for each.

    Raises:
        InputError: The file has a mistake.
    """
    file = read_file(path, [Setting.parse(text) for text in settings])
    rehearsals = check_file(file)
    if form:
        return formatted([each for rehearsal in rehearsals for each in rehearsal.created], form, as_list=True)
    return "".join(document for rehearsal in rehearsals for document in _documents(rehearsal)).rstrip("\n")


def _documents(rehearsal: Rehearsal) -> Iterator[str]:
    for manifest in rehearsal.created:
        yield "---\n" + (_PLACEHOLDER if manifest is rehearsal.inference else "") + _yaml(manifest)


def _yaml(manifest: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(manifest, sort_keys=False, width=1_000_000)
    return text
