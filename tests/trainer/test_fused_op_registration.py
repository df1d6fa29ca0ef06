"""Operations that TensorFlow does not register: whoever loads the library reads one sentence.

A library of the same name stands for a TensorFlow that refuses, in a process without the real one.
"""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from qtj_simulator.fused import op
from qtj_simulator.fused.build import SOURCES, compiler
from qtj_simulator.fused.gates import UnsupportedError
from qtj_simulator.fused.library import OPERATIONS

FUNCTIONS = re.findall(r"(TF_\w+), \(", (SOURCES / "tensorflow.h").read_text())
STATUS = """
static int code;
void TF_SetStatus(void *status, int to, const char *why) { (void)status; (void)why; code = to; }
int TF_GetCode(const void *status) { (void)status; return code; }
const char *TF_Message(const void *status) { (void)status; return "the registry is closed"; }
"""
LOAD = """
import ctypes, sys
ctypes.CDLL(sys.argv[1], mode=ctypes.RTLD_GLOBAL)
problem = ctypes.CDLL(sys.argv[2]).qtj_op_problem
problem.restype = ctypes.c_char_p
print((problem() or b"none").decode())
"""

Load = Callable[..., str]


@pytest.fixture
def load(tmp_path: Path) -> Load:
    """Loads the operations beside a TensorFlow that has these functions, one of which may refuse."""

    def loaded(functions: list[str], refuses: str = "") -> str:
        command = compiler()
        if command is None:
            pytest.skip("there is no C compiler")
        plain = [name for name in functions if f"{name}(" not in STATUS and name != refuses]
        refusal = f"void {refuses}(void *a, void *b, void *c) {{ (void)a; (void)b; (void)c; code = 13; }}\n"
        source = tmp_path / "tensorflow.c"
        source.write_text(
            STATUS + refusal * bool(refuses) + "".join(f"void *{each}(void) {{ return 0; }}\n" for each in plain)
        )
        library = tmp_path / "libtensorflow_framework.so.2"
        soname = f"-Wl,-soname,{library.name}"
        subprocess.run([*command, "-shared", "-fPIC", "-w", soname, "-o", library, source], check=True)
        script = [sys.executable, "-c", LOAD, str(library), str(OPERATIONS)]
        return subprocess.run(script, capture_output=True, text=True, check=True).stdout.strip()

    return loaded


def test_operations_that_are_registered_are_no_problem(load: Load) -> None:
    assert load(FUNCTIONS) == "none"


@pytest.mark.parametrize("refuses", ["TF_RegisterOpDefinition", "TF_RegisterKernelBuilder"])
def test_a_registration_that_fails_is_named(load: Load, refuses: str) -> None:
    assert load(FUNCTIONS, refuses) == "it cannot register QtjExpectation: the registry is closed"


def test_a_function_that_tensorflow_lacks_is_named(load: Load) -> None:
    functions = [name for name in FUNCTIONS if name != "TF_NewShapeHandle"]

    assert load(functions) == "the process lacks TF_NewShapeHandle"


def test_a_library_that_could_not_register_fails_when_it_is_loaded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(op, "registration_problem", lambda: "it cannot register QtjExpectation: closed")

    with pytest.raises(UnsupportedError, match=r"libqtj_op\.so \(it cannot register QtjExpectation: closed\)"):
        op.operations.__wrapped__()
