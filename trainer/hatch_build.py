"""Compiles the native libraries into the wheel, and puts the programs there that `qtj init` writes.

Where there is no C compiler, as where an image is built, libraries that were compiled beside their sources before are
taken. Where there are none either, the wheel is built all the same, and a line says what it lacks: the trainer then
simulates with TensorFlow Quantum, and serves no profiles.
"""

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ENGINE = Path("trainer", "qtj_trainer", "simulate", "fused")


class NativeEngine(BuildHookInterface[Any]):
    """Puts the native libraries beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:  # noqa: ARG002  the hook's signature
        """Builds before the files of the wheel are collected; the wheel fits any Python 3 of this platform."""
        build_data["force_include"].update(self._programs())
        spec = importlib.util.spec_from_file_location("build_engine", Path(self.root) / _ENGINE / "build.py")
        assert spec is not None and spec.loader is not None  # noqa: PT018, S101  it is our own file
        module = importlib.util.module_from_spec(spec)
        spec.loader.exec_module(module)
        try:
            libraries = self._compiled(module)
        except (FileNotFoundError, subprocess.CalledProcessError) as problem:
            self.app.display_warning(
                f"without the native libraries, TensorFlow Quantum will simulate, without profiles: {problem}"
            )
            return
        build_data["artifacts"].extend(str(library.relative_to(self.root)) for library in libraries)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"

    def _compiled(self, module: Any) -> list[Path]:  # noqa: ANN401  the module is loaded by its path
        made = [library for library in (module.TARGET, module.OPERATIONS, module.TRACER) if library.exists()]
        if made and module.compiler() is None:
            return made
        return [module.build(), module.build_operations(), module.build_tracer()]

    def _programs(self) -> dict[str, str]:
        """Returns the examples that `qtj init` writes; where an image is built there are none, and no need."""
        programs = Path(self.root, "examples").glob("own_*.py")
        return {str(path): f"qtj/create/programs/{path.name}" for path in programs}
