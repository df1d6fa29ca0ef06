"""Removes the lines that TensorFlow prints at each import, whoever imports it first."""

import os
import re
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from types import ModuleType

__all__ = ["import_quietly"]

_LIBRARY = "tensorflow"
_NOISE = re.compile(
    rb"Unable to register cu\w+ factory"
    rb"|computation placer already registered"
    rb"|All log messages before absl::InitializeLog"
)
"""The wheel has two builds of CUDA, which register their plugins twice on every machine, before log levels apply."""


def import_quietly() -> None:
    """Lets the first import of TensorFlow in this process print nothing but what matters."""
    if _LIBRARY not in sys.modules and not any(isinstance(each, _Finder) for each in sys.meta_path):
        sys.meta_path.insert(0, _Finder())


class _Finder(MetaPathFinder):
    """Finds TensorFlow as Python does, until it is imported: some only look where it is."""

    def find_spec(self, name: str, path: Sequence[str] | None, target: ModuleType | None = None) -> ModuleSpec | None:
        if name != _LIBRARY:
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec and spec.loader:
            spec.loader = _Loader(spec.loader, self)
        return spec


class _Loader(Loader):
    """Loads a module by its own loader, which is then the one that the module names."""

    def __init__(self, loader: Loader, finder: _Finder) -> None:
        self._loader = loader
        self._finder = finder

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        return self._loader.create_module(spec)

    def exec_module(self, module: ModuleType) -> None:
        if self._finder in sys.meta_path:
            sys.meta_path.remove(self._finder)
        module.__loader__ = self._loader
        if module.__spec__:
            module.__spec__.loader = self._loader
        with _without_noise():
            self._loader.exec_module(module)


@contextmanager
def _without_noise() -> Iterator[None]:
    """Keeps what C++ code writes to stderr in the block, and then prints it without those lines."""
    try:
        stderr, held = os.dup(2), tempfile.TemporaryFile()  # noqa: SIM115  it is closed below
    except OSError:  # no stderr, or no folder that can be written to: nothing is kept
        yield
        return
    if sys.stderr:
        sys.stderr.flush()
    with held:
        os.dup2(held.fileno(), 2)
        try:
            yield
        finally:
            os.dup2(stderr, 2)
            os.close(stderr)
            held.seek(0)
            os.write(2, b"".join(line for line in held if not _NOISE.search(line)))
