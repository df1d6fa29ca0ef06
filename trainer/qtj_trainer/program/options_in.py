"""The options among the arguments of a program, as a tracking server shows them."""

from collections.abc import Sequence

__all__ = ["options_in"]


def options_in(arguments: Sequence[str]) -> dict[str, str]:
    """Returns the options by their names, and what is none as `arguments`.

    Which options have a value, only the program knows. So a word after an option counts as its value, unless it begins
    with a minus and is no number.
    """
    found: dict[str, str] = {}
    others: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, sign, value = word.lstrip("-").partition("=")
        if not _is_option(word):
            others.append(word)
        elif sign:
            found[name] = value
        else:
            found[name] = words.pop(0) if words and not _is_option(words[0]) else "true"
    return {**found, **({"arguments": " ".join(others)} if others else {})}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != "" and not word[1:2].isdecimal() and word[1:2] != "."
