"""Compiles the native libraries into the wheels of simulator and trainer; without a C compiler there is no wheel.

An editable installation (`pip install -e`) works without them: TensorFlow Quantum simulates then, more slowly, no
profiles are served, and other machines reach the ports of `qtj run`.
"""

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ENGINE = Path(__file__).parent / "qtj_simulator" / "fused" / "build.py"


class NativeLibraries(BuildHookInterface[Any]):
    """Puts the native libraries beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles before the files of the wheel are collected; the wheel fits any Python 3 of this platform.

        Args:
            version: "editable" for an editable installation, or "standard".
            build_data: The contents of the wheel; the libraries and the tag are added.
        """
        try:
            libraries = _compiled(Path(self.root))
        except (FileNotFoundError, subprocess.CalledProcessError) as problem:
            sentence = f"the native libraries cannot be compiled: {problem}"
            if version != "editable":
                self.app.abort(sentence)
            lost = "TensorFlow Quantum will simulate, or there are no profiles and ports are open to other machines"
            self.app.display_warning(f"{sentence}; {lost}")
            return
        build_data["artifacts"].extend(str(library.relative_to(self.root)) for library in libraries)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


def _compiled(distribution: Path) -> list[Path]:
    """Compiles what a distribution has: the simulator its engine, the trainer those of its tracer and of its ports."""
    spec = importlib.util.spec_from_file_location("build_engine", _ENGINE)
    assert spec is not None and spec.loader is not None  # noqa: PT018  it is our own file
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    if (distribution / "tracer").is_dir():
        return [
            module.build_from(distribution / "tracer/threads.c", distribution / "tracer/libqtj_tracer.so"),
            module.build_from(distribution / "loopback/loopback.c", distribution / "loopback/libqtj_loopback.so"),
        ]
    return [module.build(), module.build_face(module.OPERATIONS), module.build_face(module.CALLS)]
