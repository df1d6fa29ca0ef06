"""The order of names in which worker-2 comes before worker-10."""

import re

__all__ = ["natural_key"]


def natural_key(name: str) -> list[str | int]:
    """Returns the text and the numbers of a name in turn, so that two names can be compared."""
    return [int(each) if each.isdecimal() else each for each in re.split("([0-9]+)", name)]
