"""Builds the native libraries: `python -m qtj_simulator.fused.build`.

Wheels are built with it too (`trainer/hatch_build.py`), so it does not import this package. The engine depends on
neither Python's nor TensorFlow's version: it is plain C with GCC's vector extensions, called through ctypes.
"""

import os
import shlex
import shutil
import subprocess
import sys
import sysconfig
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from tempfile import TemporaryDirectory

__all__ = ["build", "build_face", "build_from", "compiler"]

SOURCES = Path(__file__).parent / "native"
TARGET = SOURCES / "libqtj_fused.so"
OPERATIONS = SOURCES / "libqtj_op.so"
"""The engine as operations of TensorFlow; it finds the other library beside it."""
CALLS = SOURCES / "libqtj_xla.so"
"""The engine as custom calls of XLA; it finds the other library beside it, too."""
_FACES = {OPERATIONS.name: "op.c", CALLS.name: "call.c"}

_COMMON = (
    "circuit", "engine", "curvature", "walk", "angles", "algebra", "pieces", "program", "file", "memory", "room",
    "pool", "trajectories", "trajectory_branches", "trajectory_usual", "forms",
)  # fmt: skip
_OF_A_WIDTH = {"sweep": (32, 64), "trajectory_lanes": (32,)}
"""What depends on the width of a vector, and the bits of its numbers."""
_VARIANTS: dict[str, dict[str, tuple[int, list[str]]]] = {
    "x86_64": {
        "avx512": (512, ["-march=x86-64-v4", "-mprefer-vector-width=512"]),
        "avx2": (256, ["-march=x86-64-v3"]),
        "baseline": (128, []),
    }
}
_OTHERS: dict[str, tuple[int, list[str]]] = {"baseline": (128, [])}  # NEON is part of every 64-bit ARM
_PRECISIONS = {32: "", 64: "_double"}
"""The bits of a number, and how the names of their variants end."""
# Contraction makes `a * b + c` one instruction. Never use -ffast-math: linked, it makes the whole process round
# subnormal numbers to 0.
_FLAGS = ["-std=gnu11", "-O3", "-fPIC", "-fvisibility=hidden", "-ffp-contract=fast", "-Wno-psabi",
          "-Werror=implicit-function-declaration"]  # fmt: skip


_MACHINE = sysconfig.get_platform().rpartition("-")[2]
"""The architecture: this machine's, or that of _PYTHON_HOST_PLATFORM, as for Python's own extensions."""


def compiler() -> list[str] | None:
    """Finds a C compiler: $CC, cc or gcc; None if there is none."""
    if command := os.environ.get("CC"):
        return shlex.split(command)
    found = shutil.which("cc") or shutil.which("gcc")
    return [found] if found else None


def build(target: Path = TARGET, extra: tuple[str, ...] = (), machine: str = _MACHINE) -> Path:
    """Compiles and links the engine.

    Args:
        target: Where to put it.
        extra: More flags, for compiling and linking alike: sanitizers.
        machine: The architecture to compile for.

    Returns:
        The target.

    Raises:
        FileNotFoundError: If there is no compiler.
        subprocess.CalledProcessError: If it fails; what it said is on stderr.
    """
    command = _compiler()
    with TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
        flags = [*_FLAGS, *extra]
        jobs = [[SOURCES / f"{name}.c", "-o", Path(folder, f"{name}.o")] for name in _COMMON]
        variants = _VARIANTS.get(machine, _OTHERS).items()
        for bits, ending in _PRECISIONS.items():
            jobs.append([f"-DBITS={bits}", SOURCES / "scalars.c", "-o", Path(folder, f"scalars{ending}.o")])
            for name, (width, options) in variants:
                defines = [f"-DBITS={bits}", f"-DLANES={width // bits}", f"-DVARIANT={name}{ending}"]
                for source in (each for each, precisions in _OF_A_WIDTH.items() if bits in precisions):
                    object_file = Path(folder, f"{source}_{name}{ending}.o")
                    jobs.append([*_spelled(options, command), *defines, SOURCES / f"{source}.c", "-o", object_file])
        list(pool.map(lambda job: _run([*command, *flags, "-c", *job]), jobs))
        objects = sorted(Path(folder).glob("*.o"))
        return _link([*command, *extra, f"-Wl,-soname,{target.name}", *objects, "-lm", "-lpthread"], target)


def build_face(target: Path, extra: tuple[str, ...] = ()) -> Path:
    """Compiles and links the operations of TensorFlow, or the custom calls of XLA, without either of them.

    Args:
        target: Where to put it, beside the engine: a file with the name of `OPERATIONS` or `CALLS`.
        extra: More flags: sanitizers.

    Returns:
        The target.

    Raises:
        FileNotFoundError: If there is no compiler, or no engine.
        subprocess.CalledProcessError: If it fails; what it said is on stderr.
    """
    source, engine = SOURCES / _FACES[target.name], target.with_name(TARGET.name)
    return _link([*_compiler(), *_FLAGS, *extra, source, engine, "-Wl,-rpath,$ORIGIN", "-ldl"], target)


def build_from(source: Path, target: Path) -> Path:
    """Compiles and links a library that has one file.

    Args:
        source: The file.
        target: Where to put the library.

    Returns:
        The target.

    Raises:
        FileNotFoundError: If there is no compiler.
        subprocess.CalledProcessError: If it fails; what it said is on stderr.
    """
    return _link([*_compiler(), *_FLAGS, source, "-ldl"], target)


def _compiler() -> list[str]:
    command = compiler()
    if command is None:
        raise FileNotFoundError("no C compiler: install gcc or set CC")
    return command


def _link(command: list[str | Path], target: Path) -> Path:
    with TemporaryDirectory() as folder:
        whole = Path(folder, target.name)
        _run([*command, "-shared", "-o", whole])
        shutil.copy(whole, target.with_suffix(".new"))
    target.with_suffix(".new").replace(target)  # a process that has loaded the old one continues with it
    return target


def _spelled(options: list[str], command: list[str]) -> list[str]:
    """Spells options for Zig, a compiler that pip can install: x86_64_v4 instead of x86-64-v4."""
    zig = any("zig" in word for word in command)
    return [option.replace("x86-64-v", "x86_64_v") if zig else option for option in options]


def _run(command: list[str | Path]) -> None:
    subprocess.run(command, check=True)


if __name__ == "__main__":
    try:
        sys.stdout.write(f"{build()}\n{build_face(OPERATIONS)}\n{build_face(CALLS)}\n")
    except (FileNotFoundError, subprocess.CalledProcessError) as problem:
        sys.exit(f"error: the fused engine was not built: {problem}")
