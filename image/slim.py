"""Removes from an image's virtual environment what nothing in the image reads: `python image/slim.py IMAGE`.

The Dockerfiles run it with the Python of that environment. `image/workloads.py` and the end-to-end tests prove that
what runs on the images is still there.
"""

import importlib
import py_compile
import shutil
import sys
import sysconfig
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

SITE = Path(sysconfig.get_path("purelib"))


@dataclass(frozen=True)
class Slimming:
    """What an image does without.

    Attributes:
        distributions: Whole ones, which another one asks for and no module imports.
        removed: Files and folders, as patterns below the folder of all packages.
        loaded: Folders from which every module is removed that is not imported at the start.
        imported: Modules that are compiled, with all that they import. The others are compiled when they are imported.
    """

    distributions: Sequence[str] = ()
    removed: Sequence[str] = ()
    loaded: Sequence[str] = ()
    imported: Sequence[str] = ()


_SOURCES = tuple(f"**/*.{kind}" for kind in ("pyi", "h", "c", "cc", "cpp", "hpp", "pyx", "pxd"))
"""What type checkers and compilers read."""
_TESTS = ("**/tests",)

IMAGES = {
    "operator": Slimming(
        removed=(*_SOURCES, *_TESTS),
        # The client without asyncio has a module for each type of object, and imports them by need; we need none.
        loaded=("kubernetes/client/api", "kubernetes/client/models"),
        imported=(
            *("aiohttp.web", "kopf", "kubernetes.aio.client", "kubernetes.aio.config", "kubernetes.aio.leaderelection"),
            *("prometheus_client", "pydantic", "pythonjsonlogger.json", "yaml", "asyncio", "argparse"),
        ),
    ),
    "tensorboard": Slimming(
        distributions=(
            "duckdb",  # xprof asks for it, and only its command line imports it
            "fire",  # the same
            "tensorboard-data-server",  # reads logs faster, but has a client of its own for buckets
        ),
        removed=(*_SOURCES, *_TESTS, "xprof/cli", "xprof/integration_tests"),
        imported=("gcsfs", "tensorboard.main", "tensorboard.default", "xprof.profile_plugin"),
    ),
    "trainer": Slimming(
        distributions=(
            *("jax", "jaxlib", "libclang"),  # TensorFlow Quantum and TensorFlow ask for them, and import them nowhere
            *("cirq-google", "typedunits"),  # TensorFlow Quantum imports Cirq alone
            "cython",  # typedunits was made with it
            "tensorboard-data-server",  # for TensorBoard's page, which reads logs without it too, and more slowly
        ),
        removed=(
            *_SOURCES,
            *_TESTS,
            "tensorflow/include",  # headers for extensions in C++
            "matplotlib/mpl-data/sample_data",
        ),
        imported=(
            *("cirq", "matplotlib.pyplot", "prometheus_client", "pythonjsonlogger.json", "tensorflow", "tf_keras"),
            *("tensorflow_quantum", "typer", "google.cloud.storage", "h5py", "rich.console"),
        ),
    ),
}


def remove_distribution(name: str) -> None:
    """Removes every file of a distribution, and its folders: an empty one would be imported as a namespace."""
    try:
        found = distribution(name)
    except PackageNotFoundError:
        sys.exit(f"{name} is not installed: remove it from the list in {__file__}")
    for file in found.files or ():
        path = Path(str(found.locate_file(file)))
        path.unlink(missing_ok=True)
        for folder in path.parents:
            if folder == SITE or not folder.is_dir() or any(folder.iterdir()):
                break
            folder.rmdir()


def remove(pattern: str) -> None:
    """Removes the files and folders that a pattern names.

    Raises:
        SystemExit: One that is named without a wildcard is missing, for example after an upgrade: the image would grow
            unnoticed.
    """
    found = sorted(SITE.glob(pattern))
    if not found and "*" not in pattern:
        sys.exit(f"nothing matches {pattern}: correct the list in {__file__}")
    for path in found:
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def modules() -> Iterator[Path]:
    """Yields the files of the modules that are imported."""
    for module in list(sys.modules.values()):
        file = getattr(module, "__file__", None)
        if file and file.endswith(".py") and Path(file).is_relative_to(SITE):
            yield Path(file)


def keep_loaded(folder: str) -> None:
    """Removes the modules of a folder that are not imported."""
    if not (SITE / folder).is_dir():
        sys.exit(f"there is no folder {folder}: correct the list in {__file__}")
    for path in set((SITE / folder).glob("*.py")) - set(modules()):
        path.unlink()


def main() -> None:
    """Slims this Python's environment."""
    if sys.argv[1:2] not in [[name] for name in IMAGES]:
        sys.exit(f"usage: slim.py {'|'.join(IMAGES)}")
    slimming = IMAGES[sys.argv[1]]
    for name in slimming.distributions:
        remove_distribution(name)
    for pattern in slimming.removed:
        remove(pattern)
    for name in slimming.imported:
        importlib.import_module(name)
    for folder in slimming.loaded:
        keep_loaded(folder)
    # Trusted as it is, because nothing in an image changes afterwards; its user cannot write any.
    for path in modules():
        py_compile.compile(str(path), doraise=True, invalidation_mode=py_compile.PycInvalidationMode.UNCHECKED_HASH)


if __name__ == "__main__":
    main()
