"""The kernels, compiled by NVRTC: the sources in `native/` for one architecture and precision."""

import ctypes
import importlib.util
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import cache
from pathlib import Path

__all__ = ["UnusableError", "compiled", "nvrtc"]

_SOURCES = Path(__file__).parent / "native"
_NVRTC = (("cuda_nvrtc", "libnvrtc.so.12"), ("cu13", "libnvrtc.so.13"))
"""The folder of each version below `nvidia` in its wheel, and its name."""


class UnusableError(Exception):
    """The card or its libraries cannot be used; the message is one sentence."""


@cache
def compiled(architecture: int, bits: int, *, portable: bool = False) -> bytes:
    """Compiles the kernels by NVRTC, which needs no card.

    Args:
        architecture: The compute capability, as 90 for 9.0.
        bits: The bits of a real number: 32 or 64.
        portable: True for PTX, which the driver translates, and not the instructions of the card. A card that NVRTC
            does not know gets that anyway.

    Raises:
        UnusableError: If NVRTC is missing, or refuses them.
    """
    with ThreadPoolExecutor(1) as apart:  # NVRTC leaves the thread that calls it with a locale of its own: ASCII
        return apart.submit(_compiled, architecture, bits, portable=portable).result()


def _compiled(architecture: int, bits: int, *, portable: bool) -> bytes:
    library = nvrtc()
    known = _architectures(library)
    portable = portable or architecture not in known
    newest = max((each for each in known if each <= architecture), default=min(known))
    options = [f"--gpu-architecture={'compute' if portable else 'sm'}_{newest}", f"-DBITS={bits}", "--std=c++17"]
    program = _program(library)
    try:
        if library.nvrtcCompileProgram(program, len(options), _strings([each.encode() for each in options])):
            raise UnusableError(f"NVRTC refuses the kernels: {_text(library, program, 'ProgramLog').decode()}")
        return _text(library, program, "PTX" if portable else "CUBIN")
    finally:
        library.nvrtcDestroyProgram(ctypes.byref(program))


def _program(library: ctypes.CDLL) -> ctypes.c_void_p:
    headers = sorted(path for path in _SOURCES.glob("*.h") if path.name != "kernels.h")
    texts, names = ([each(path) for path in headers] for each in (Path.read_bytes, lambda path: path.name.encode()))
    program = ctypes.c_void_p()
    source = (_SOURCES / "kernels.h").read_bytes()
    library.nvrtcCreateProgram(
        ctypes.byref(program), source, b"kernels.cu", len(headers), _strings(texts), _strings(names)
    )
    return program


def _architectures(library: ctypes.CDLL) -> list[int]:
    count = ctypes.c_int()
    library.nvrtcGetNumSupportedArchs(ctypes.byref(count))
    known = (ctypes.c_int * count.value)()
    library.nvrtcGetSupportedArchs(known)
    return [*known]


def _strings(texts: Sequence[bytes]) -> ctypes.Array[ctypes.c_char_p]:
    return (ctypes.c_char_p * len(texts))(*texts)


def _text(library: ctypes.CDLL, program: ctypes.c_void_p, what: str) -> bytes:
    size = ctypes.c_size_t()
    getattr(library, f"nvrtcGet{what}Size")(program, ctypes.byref(size))
    text = ctypes.create_string_buffer(size.value)
    getattr(library, f"nvrtcGet{what}")(program, text)
    return text.raw


def nvrtc() -> ctypes.CDLL:
    """Loads NVRTC: that of its wheel, or the machine's.

    Raises:
        UnusableError: There is neither.
    """
    found = importlib.util.find_spec("nvidia")
    folders = (found.submodule_search_locations if found else None) or ()
    for package, name in _NVRTC:
        wheels = [Path(folder, package, "lib", name) for folder in folders]
        for file in (*filter(Path.is_file, wheels), name):
            with suppress(OSError):
                return ctypes.CDLL(str(file))
    raise UnusableError(f"{_NVRTC[0][1]} is missing: install nvidia-cuda-nvrtc-cu12")
