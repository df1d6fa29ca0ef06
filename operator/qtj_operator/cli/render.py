"""`qtj render`: the manifests that the operator would create, to read or to check against a cluster."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import yaml

from qtj_operator.cli.check import all_checked
from qtj_operator.cli.manifests import read_file
from qtj_operator.cli.settings import Setting
from qtj_operator.local.rehearsal import Rehearsal

__all__ = ["render_file"]

_PLACEHOLDER = "# Weights and their digest are known only after training: the values here stand for them.\n"


def render_file(path: Path, settings: list[str]) -> str:
    """Returns the manifests of all jobs of a file as YAML.

    Raises:
        InputError: The file is at fault.
    """
    file = read_file(path, [Setting.parse(text) for text in settings])
    return "".join(document for rehearsal in all_checked(file.jobs) for document in _documents(rehearsal))


def _documents(rehearsal: Rehearsal) -> Iterator[str]:
    for manifest in (*rehearsal.services, *rehearsal.pod_groups, *rehearsal.pods):
        yield "---\n" + _yaml(manifest)
    if rehearsal.inference:
        yield "---\n" + _PLACEHOLDER + _yaml(rehearsal.inference)


def _yaml(manifest: dict[str, Any]) -> str:
    text: str = yaml.safe_dump(manifest, sort_keys=False, width=1_000_000)
    return text
