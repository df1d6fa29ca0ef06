"""A profile is offered only where the correction of TensorFlow's tracer is known to take effect."""

import subprocess
import sys
from pathlib import Path

import pytest

from qtj_simulator.fused.build import compiler

MENDED = """
import sys
from qtj_trainer.tracer import patch_tracer
print(patch_tracer(), "tensorflow" in sys.modules)
"""
SERVED = """
import logging
from qtj_trainer.tracer import patch_tracer, serve_profiles
logging.basicConfig(format="%(message)s")
patch_tracer()
import tensorflow as tf
tf.sysconfig.CXX11_ABI_FLAG = 0
serve_profiles(1)
"""


def output(script: str, *path: Path) -> str:
    """What a Python process writes that finds packages in the given folders first."""
    found = f"import sys; sys.path[:0] = {[str(each) for each in path]}\n"
    ended = subprocess.run([sys.executable, "-c", found + script], capture_output=True, text=True, check=True)
    return ended.stdout + ended.stderr


def tensorflow(folder: Path, library: bytes | None) -> Path:
    """A TensorFlow of the version that is known, with another library."""
    package = folder / "tensorflow"
    package.mkdir()
    (package / "__init__.py").touch()
    (folder / "tensorflow-2.18.1.dist-info").mkdir()
    (folder / "tensorflow-2.18.1.dist-info" / "METADATA").write_text("Name: tensorflow\nVersion: 2.18.1\n")
    if library is not None:
        (package / "libtensorflow_framework.so.2").write_bytes(library)
    return folder


@pytest.mark.skipif(compiler() is None, reason="needs a C compiler")
def test_tensorflow_as_it_is_released_is_corrected_before_it_is_loaded() -> None:
    assert output(MENDED) == "True False\n"


@pytest.mark.parametrize("library", [None, b"", b"a build with other functions"])
def test_a_tensorflow_that_does_not_call_what_is_replaced_is_not_corrected(
    tmp_path: Path, library: bytes | None
) -> None:
    assert output(MENDED, tensorflow(tmp_path, library)) == "False False\n"


@pytest.mark.slow
def test_a_tensorflow_of_the_older_abi_serves_no_profiles() -> None:
    assert "port 1 serves no profiles: a profile can kill a process with TensorFlow" in output(SERVED)
