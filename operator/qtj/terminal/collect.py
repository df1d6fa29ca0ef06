"""All mistakes at once: an `InputError` of one job or file does not hide those of the others."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from qtj.terminal.errors import InputError

__all__ = ["map_or_raise", "map_with_errors"]

T = TypeVar("T")
R = TypeVar("R")


def map_or_raise(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Returns the result of a function for each item.

    Raises:
        InputError: It was raised for some items: the lines of all of these.
    """
    made, wrong = map_with_errors(function, items)
    if wrong:
        raise InputError("\n".join(wrong))
    return made


def map_with_errors(function: Callable[[T], R], items: Iterable[T]) -> tuple[list[R], list[str]]:
    """Returns the results for the items without an `InputError`, and the lines of these errors."""
    made: list[R] = []
    wrong: list[str] = []
    for item in items:
        try:
            made.append(function(item))
        except InputError as problem:
            wrong += str(problem).split("\n")
    return made, wrong
