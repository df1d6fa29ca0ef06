"""The cluster that a command line names, by --context and --kubeconfig, instead of that of the current context.

Of a process, as `KUBECONFIG` is: it has one command line. Nothing here needs the libraries of the operator.
"""

import os
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any

from qtj.terminal.errors import InputError

__all__ = ["CHOICE", "Choice", "contexts"]

_VARIABLE = "KUBECONFIG"


class Choice:
    """What the command line names.

    Attributes:
        context: The name of a context of the kubeconfig; None for the current one.
        kubeconfig: A file; None for that of kubectl.
    """

    def __init__(self) -> None:
        self.context: str | None = None
        self.kubeconfig: str | None = None

    @property
    def is_made(self) -> bool:
        """Whether a cluster is named."""
        return bool(self.context or self.kubeconfig)

    @property
    def options(self) -> Sequence[str]:
        """The options with which kubectl asks this cluster; it reads the same environment."""
        return ("--context", self.context) if self.context else ()

    def choose_kubeconfig(self, file: str | None) -> None:
        """Names a kubeconfig: in the environment, for kubectl and for the library that reads it when it is imported."""
        self.kubeconfig = file
        if file:
            os.environ[_VARIABLE] = file

    def choose_context(self, name: str | None) -> None:
        """Names a context.

        Raises:
            InputError: The kubeconfig has other ones.
        """
        found = contexts() if name else {}
        if found and name not in found:
            raise InputError(f"there is no context {name}: the kubeconfig has {', '.join(found)}")
        self.context = name

    @property
    def namespace(self) -> str:
        """The namespace of the context that is named."""
        return str(contexts().get(self.context or "", {}).get("namespace") or "default")


def contexts() -> Mapping[str, Mapping[str, Any]]:
    """Returns the contexts of the kubeconfig by name; nothing if it cannot be read, which a connection explains."""
    import yaml

    found: dict[str, Mapping[str, Any]] = {}
    for each in (os.environ.get(_VARIABLE) or "~/.kube/config").split(os.pathsep):
        with suppress(OSError, UnicodeError, yaml.YAMLError, AttributeError, KeyError, TypeError):
            listed = yaml.safe_load(Path(each).expanduser().read_text())["contexts"]
            found = {one["name"]: one.get("context") or {} for one in listed} | found
    return found


CHOICE = Choice()
