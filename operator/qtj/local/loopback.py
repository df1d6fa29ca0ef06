"""Keeps the ports of programs on the loopback interface, by a library of the trainer that each of them preloads.

TensorFlow's servers listen on all addresses of a machine and run what anybody who connects asks for. A network
namespace would keep them apart too, but would cut programs off from buckets and trackers.
"""

import re
import sys
from collections.abc import Mapping
from functools import cache
from importlib.util import find_spec
from pathlib import Path

__all__ = ["OPEN_PORTS", "confined", "library"]

OPEN_PORTS = (
    "ports that a program opens on all addresses can be reached from the network, because this Python environment "
    "lacks the library qtj_trainer/loopback/libqtj_loopback.so, or its path has a space or a colon"
)

_VARIABLE = "LD_PRELOAD"
_SEPARATORS = re.compile(r"[\s:]")
"""Of the libraries in the variable: see ld.so(8)."""


@cache
def library() -> Path | None:
    """Returns the library; None where it was not built, and where a path like its own cannot be preloaded."""
    spec = find_spec("qtj_trainer") if sys.platform == "linux" else None
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "loopback", "libqtj_loopback.so").absolute()
        if path.is_file() and not _SEPARATORS.search(str(path)):
            return path
    return None


def confined(environment: Mapping[str, str]) -> dict[str, str]:
    """Returns an environment in which a program preloads the library, after what it preloads already."""
    path = library()
    already = [name for name in _SEPARATORS.split(environment.get(_VARIABLE, "")) if name]
    if path is None or str(path) in already:
        return dict(environment)
    return {**environment, _VARIABLE: ":".join([*already, str(path)])}
