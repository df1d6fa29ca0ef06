"""Compiles the native libraries into the trainer's wheel; without a C compiler there is no wheel.

An editable installation (`pip install -e`) works without them: TensorFlow Quantum simulates then, more slowly, and no
profiles are served.
"""

import importlib.util
import subprocess
import sysconfig
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_ENGINE = Path("simulate", "fused", "build.py")


class NativeLibraries(BuildHookInterface[Any]):
    """Puts the native libraries beside their sources."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compiles before the files of the wheel are collected; the wheel fits any Python 3 of this platform.

        Args:
            version: "editable" for an editable installation, or "standard".
            build_data: The contents of the wheel; the libraries and the tag are added.
        """
        try:
            libraries = _compiled(Path(self.root, _ENGINE))
        except (FileNotFoundError, subprocess.CalledProcessError) as problem:
            sentence = f"the trainer's native libraries cannot be compiled: {problem}"
            if version != "editable":
                self.app.abort(sentence)
            self.app.display_warning(f"{sentence}; TensorFlow Quantum will simulate, without profiles")
            return
        build_data["artifacts"].extend(str(library.relative_to(self.root)) for library in libraries)
        platform = sysconfig.get_platform().replace("-", "_").replace(".", "_")
        build_data["pure_python"] = False
        build_data["tag"] = f"py3-none-{platform}"


def _compiled(script: Path) -> list[Path]:
    spec = importlib.util.spec_from_file_location("build_engine", script)
    assert spec is not None and spec.loader is not None  # noqa: PT018  it is our own file
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return [module.build(), module.build_operations(), module.build_tracer(), module.build_loopback()]
