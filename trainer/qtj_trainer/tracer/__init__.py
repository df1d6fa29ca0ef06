"""The port where a process can be asked for profiles, in TensorBoard or by `tf.profiler.experimental.client.trace`.

In TensorFlow 2.18, a process that takes part in collective operations can die when a trace of it ends: `threads.c` says
why. The small library made of that file corrects the mistake in a process that loads it before TensorFlow. Where it was
not loaded, nobody can ask for a profile, because a profile must not cost a training.
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

__all__ = ["LIBRARY", "mend_tracer", "serve_profiles"]

LIBRARY = Path(__file__).parent / "libqtj_tracer.so"
"""Where `python -m qtj_trainer.simulate.fused.build` and the wheels put it."""

_MENDED = "2.18."
"""The versions of TensorFlow whose list of threads `threads.c` knows."""

_FRAMEWORK = "libtensorflow_framework.so.2"
_GROW = (
    b"_ZNSt6vectorIN3tsl8profiler15TraceMeRecorder12ThreadEventsESaIS3_EE17_M_realloc_insertIJS3_EEE"
    b"vN9__gnu_cxx17__normal_iteratorIPS3_S5_EEDpOT_"
)
"""The function that `threads.c` stands in for. A build of TensorFlow that has it inlined does not call that."""

log = logging.getLogger("qtj_trainer")


@cache
def mend_tracer() -> bool:
    """Corrects TensorFlow's tracer in this process. To be called before TensorFlow is imported.

    Returns:
        Whether traces of this process are safe.
    """
    if "tensorflow" in sys.modules or not tensorflow_version().startswith(_MENDED) or not _calls_grow():
        return False
    try:
        ctypes.CDLL(str(LIBRARY), mode=ctypes.RTLD_GLOBAL)
    except OSError:
        return False
    return True


def serve_profiles(port: int | None) -> None:
    """Lets this process be asked for profiles, where that is safe; its log says where it is not.

    Args:
        port: Where to listen; None for nowhere.
    """
    if not port:
        return
    if not (mend_tracer() and _has_new_strings()):
        log.warning(
            "port %d serves no profiles: a profile can kill a process with TensorFlow %s, unless that is 2.18 as PyPI"
            " has it and %s is loaded first; python -m qtj_trainer.simulate.fused.build compiles it",
            port, tensorflow_version() or "of unknown version", LIBRARY.name,
        )  # fmt: skip
        return
    import tensorflow as tf  # noqa: PLC0415

    tf.profiler.experimental.server.start(port)


def _calls_grow() -> bool:
    """Looks for the symbol in TensorFlow's library, without loading that. It takes 2 ms, for names come first."""
    found = find_spec("tensorflow")
    for folder in (found and found.submodule_search_locations) or ():
        with (
            suppress(OSError, ValueError),
            (Path(folder) / _FRAMEWORK).open("rb") as file,
            mmap(file.fileno(), 0, access=ACCESS_READ) as library,
        ):
            return library.find(_GROW) >= 0
    return False


def _has_new_strings() -> bool:
    """Tells whether TensorFlow, once it is loaded, has the std::string of the newer ABI, which `threads.c` moves."""
    import tensorflow as tf  # noqa: PLC0415

    return bool(tf.sysconfig.CXX11_ABI_FLAG)
