"""Keys that wait in lines, one for each group, and groups that take turns."""

from collections.abc import Hashable, Iterator
from typing import Generic, TypeVar

__all__ = ["Lines"]

G = TypeVar("G", bound=Hashable)
K = TypeVar("K", bound=Hashable)


class Lines(Generic[G, K]):
    """Who waits, in the order in which they came; a group whose key leaves comes after all others."""

    def __init__(self) -> None:
        self._lines: dict[G, dict[K, None]] = {}
        self._groups: dict[K, G] = {}

    def __len__(self) -> int:
        return len(self._groups)

    def __contains__(self, key: K) -> bool:
        return key in self._groups

    def has(self, group: G) -> bool:
        """Whether a key of the group waits."""
        return group in self._lines

    def add(self, group: G, key: K) -> None:
        """Puts a key at the end of its line; one that waits already keeps its place."""
        if key not in self._groups:
            self._groups[key] = group
            self._lines.setdefault(group, {})[key] = None

    def remove(self, key: K) -> None:
        """Takes a key out of its line, if it is in one."""
        if key not in self._groups:
            return
        group = self._groups.pop(key)
        line = self._lines.pop(group)
        del line[key]
        if line:
            self._lines[group] = line

    def heads(self) -> Iterator[K]:
        """Yields the first of each line, and first that of the group whose turn is longest ago."""
        for line in self._lines.values():
            yield next(iter(line))
