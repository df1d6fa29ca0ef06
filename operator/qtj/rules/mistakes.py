"""A mistake: the path of a field and a sentence, which become one line with the place in the file."""

from collections.abc import Mapping
from typing import Protocol

from qtj_operator.api.reading import MISSING, NO_SUCH_FIELD, TEXT
from qtj_operator.api.spelling import nearest

__all__ = ["NO_NAME", "NO_SPEC", "UNKNOWN_TO_KUBERNETES", "Locator", "Mistake", "Path", "causes", "mistake_line"]

Path = tuple[int | str, ...]
Mistake = tuple[Path, str]
"""Path and sentence."""

UNKNOWN_TO_KUBERNETES = "Kubernetes does not have this field"
NO_NAME = "give the job a name"
NO_SPEC = "write what to train here"

_ABSENT = {MISSING, NO_NAME, NO_SPEC}


class Locator(Protocol):
    """Locates fields in a file; see `qtj.files.documents.Document`."""

    def error(self, path: list[int | str], sentence: str) -> str:
        """Returns one line about a mistake."""

    def written(self, path: list[int | str]) -> str | None:
        """Returns a value as its author wrote it."""


def mistake_line(place: Locator, path: Path, what: str) -> str:
    """Returns the line about a mistake; a value that should be text is shown in quotes."""
    if what == TEXT and (plain := place.written(list(path))):
        what = f'this has to be text: write "{plain}", in quotes'
    return place.error(list(path), what)


def causes(found: Mapping[Path, str]) -> Mapping[Path, str]:
    """Leaves out fields that are missing only because their names are misspelt."""
    return {path: what for path, what in found.items() if what not in _ABSENT or not _misspelt(path, found)}


def _misspelt(path: Path, found: Mapping[Path, str]) -> bool:
    """Returns whether a field, or one of its parents, exists under an unknown name."""
    return any(
        what.startswith((NO_SUCH_FIELD, UNKNOWN_TO_KUBERNETES))
        and other[:-1] == path[: len(other) - 1]
        and len(other) <= len(path)
        and nearest(other[-1], [str(path[len(other) - 1])]) is not None
        for other, what in found.items()
    )
