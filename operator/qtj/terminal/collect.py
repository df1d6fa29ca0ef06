"""Every mistake at once: of several jobs or files, each has its say."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from qtj.terminal.errors import InputError

__all__ = ["map_or_raise", "map_with_errors"]

T = TypeVar("T")
R = TypeVar("R")


def map_or_raise(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Returns what a function makes of each item.

    Raises:
        InputError: It refused some: the lines of all of these.
    """
    made, wrong = map_with_errors(function, items)
    if wrong:
        raise InputError("\n".join(wrong))
    return made


def map_with_errors(function: Callable[[T], R], items: Iterable[T]) -> tuple[list[R], list[str]]:
    """Returns what a function makes of the items that it does not refuse, and the lines on the others."""
    made: list[R] = []
    wrong: list[str] = []
    for item in items:
        try:
            made.append(function(item))
        except InputError as problem:
            wrong += str(problem).split("\n")
    return made, wrong
