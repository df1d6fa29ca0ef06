"""The port where a process can be asked for profiles, in TensorBoard or by `tf.profiler.experimental.client.trace`.

In TensorFlow 2.18, a process that takes part in collective operations can die when a trace of it ends: `threads.c` says
why. The small library made of that file corrects the mistake in a process that loads it before TensorFlow. Where it was
not loaded, nobody can ask for a profile, because a profile must not cost a training.
"""

import ctypes
import logging
import sys
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["LIBRARY", "mend_tracer", "serve_profiles"]

LIBRARY = Path(__file__).parent / "libqtj_tracer.so"
"""Where `python -m qtj_trainer.simulate.fused.build` and the wheels put it."""

_MENDED = "2.18."
"""The versions of TensorFlow whose list of threads `threads.c` knows."""

log = logging.getLogger("qtj_trainer")


@cache
def mend_tracer() -> bool:
    """Corrects TensorFlow's tracer in this process. To be called before TensorFlow is imported.

    Returns:
        Whether traces of this process are safe.
    """
    if "tensorflow" in sys.modules or not _tensorflow().startswith(_MENDED):
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
    if not mend_tracer():
        log.warning(
            "port %d serves no profiles: a profile can kill a process with TensorFlow %s unless %s is loaded first;"
            " python -m qtj_trainer.simulate.fused.build compiles it",
            port, _tensorflow() or "of unknown version", LIBRARY.name,
        )  # fmt: skip
        return
    import tensorflow as tf  # noqa: PLC0415

    tf.profiler.experimental.server.start(port)


def _tensorflow() -> str:
    try:
        return version("tensorflow")
    except PackageNotFoundError:
        return ""
