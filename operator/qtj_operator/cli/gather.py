"""Every mistake at once: of several jobs or files, each has its say."""

from collections.abc import Callable, Iterable
from typing import TypeVar

from qtj_operator.cli.errors import InputError

__all__ = ["each_of"]

T = TypeVar("T")
R = TypeVar("R")


def each_of(function: Callable[[T], R], items: Iterable[T]) -> list[R]:
    """Returns what a function makes of each item.

    Raises:
        InputError: It refused some: the lines of all of these.
    """
    made: list[R] = []
    wrong: list[str] = []
    for item in items:
        try:
            made.append(function(item))
        except InputError as problem:
            wrong.append(str(problem))
    if wrong:
        raise InputError("\n".join(wrong))
    return made
