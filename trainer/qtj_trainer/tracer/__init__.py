"""The port for requests of profiles, from TensorBoard or `tf.profiler.experimental.client.trace`.

In TensorFlow 2.18, a process that takes part in collective operations can crash when a trace of it ends: `threads.c`
explains why. The small library that is compiled from that file corrects the error in a process that loads it before
TensorFlow. Without the library, no profiles are served, because a profile must not end a training.
"""

import ctypes
import logging
import sys
from contextlib import suppress
from functools import cache
from importlib.util import find_spec
from mmap import ACCESS_READ, mmap
from pathlib import Path

from qtj_trainer.libraries import tensorflow_version

__all__ = ["LIBRARY", "SOURCE", "has_safe_traces", "patch_tracer", "serve_profiles"]

SOURCE = Path(__file__).parent / "threads.c"
LIBRARY = Path(__file__).parent / "libqtj_tracer.so"
"""Where `python -m qtj_trainer.tracer.build` and the wheels put the library."""

_PATCHED = "2.18."
"""The versions of TensorFlow for which `threads.c` is correct."""

_FRAMEWORK = "libtensorflow_framework.so.2"
_GROW = (
    b"_ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EE17_M_realloc_insertIJS3_EEE"
    b"vN9__gnu_cxx17__normal_iteratorIPS3_S5_EEDpOT_"
)
"""The function that `threads.c` replaces. A build of TensorFlow that has inlined it would not call the replacement."""

log = logging.getLogger("qtj_trainer")


@cache
def patch_tracer() -> bool:
    """Corrects TensorFlow's tracer in this process. Call it before TensorFlow is imported.

    Returns:
        Whether traces of this process are safe.
    """
    if "tensorflow" in sys.modules or not tensorflow_version().startswith(_PATCHED) or not _calls_grow():
        return False
    try:
        ctypes.CDLL(str(LIBRARY), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def has_safe_traces() -> bool:
    """Returns whether traces of this process cannot end it, whatever it exchanges. This loads TensorFlow."""
    return patch_tracer() and _has_new_strings()


def serve_profiles(port: int | None) -> None:
    """Serves profiles of this process, if that is safe; otherwise logs why not.

    Args:
        port: The port; None serves no profiles.
    """
    if not port:
        return
    if not has_safe_traces():
        log.warning(
            "port %d serves no profiles: a profile can kill a process with TensorFlow %s, unless it is 2.18 from"
            " PyPI and %s is loaded first; python -m qtj_trainer.tracer.build compiles that library",
            port, tensorflow_version() or "of unknown version", LIBRARY.name,
        )  # fmt: skip
        return
    import tensorflow as tf

    tf.profiler.experimental.server.start(port)


def _calls_grow() -> bool:
    """Returns whether TensorFlow's library has the symbol, without loading it.

    It takes 2 ms, because the names of symbols are at the start of the file.
    """
    spec = find_spec("tensorflow")
    for folder in (spec and spec.submodule_search_locations) or ():
        with (
            suppress(OSError, ValueError),
            (Path(folder) / _FRAMEWORK).open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as library,
        ):
            return library.find(_GROW) >= 0
    return False


def _has_new_strings() -> bool:
    """Returns whether TensorFlow uses the std::string of the newer ABI, as `threads.c` does. This loads TensorFlow."""
    import tensorflow as tf

    return bool(tf.sysconfig.CXX11_ABI_FLAG)
