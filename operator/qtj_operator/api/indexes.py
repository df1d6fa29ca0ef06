"""Sets of indexes as text: `0,2-5`, as an Indexed Job writes its completed indexes."""

from collections.abc import Iterable

__all__ = ["format_indexes", "parse_indexes"]


def format_indexes(indexes: Iterable[int]) -> str | None:
    """Returns the indexes as text, in order and with runs joined; None when there are none."""
    runs: list[list[int]] = []
    for index in sorted(set(indexes)):
        if runs and runs[-1][1] == index - 1:
            runs[-1][1] = index
        else:
            runs.append([index, index])
    return ",".join(str(first) if first == last else f"{first}-{last}" for first, last in runs) or None


def parse_indexes(text: str | None, size: int) -> frozenset[int]:
    """Returns the indexes below `size` that the text names; other text is ignored, because anyone may edit it."""
    indexes: set[int] = set()
    for part in (text or "").split(","):
        first, _, last = part.partition("-")
        if first.isdecimal() and (last or first).isdecimal():
            indexes.update(range(int(first), min(int(last or first) + 1, size)))
    return frozenset(indexes)
