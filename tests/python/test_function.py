"""A function as a program: what travels with it, and the sentence for what cannot."""

import asyncio
import json as encoder
import linecache
import math
import sys
import textwrap
from collections.abc import Callable
from dataclasses import dataclass
from functools import wraps
from math import pi
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from qtj.python.function import program_of
from qtj.terminal.errors import InputError
from tests.python import beside

RATES: dict[str, Any] = {"slow": [0.1, (1, 2)], "none": None}
TEXTS = frozenset({"a"})
OBJECT = object()
ENDLESS: list[Any] = []
ENDLESS.append(ENDLESS)


@dataclass
class Net:
    size: int = 3


def area(net: Net, wide: float = pi) -> float:
    return net.size * wide if net.size else again(net)


def again(net: Net) -> float:
    return area(Net(net.size + 1))


renamed = area


def train(epochs: int, texts: Any = TEXTS) -> None:
    def inner(rate: float) -> float:
        return rate * renamed(Net()) + math.sqrt(4)

    found.append(encoder.dumps([epochs, sorted(texts), inner(RATES["slow"][0]), again(Net(-1))]))


found: list[str] = []


def test_all_that_it_uses_travels_and_nothing_else() -> None:
    text = program_of(train, {"epochs": 2})
    names: dict[str, Any] = {"__name__": "__main__"}

    exec(compile(text, "train.py", "exec"), names)

    train(2)
    assert names["found"] == found
    assert {"RATES", "TEXTS", "Net", "area", "again", "renamed", "encoder", "math", "pi"} <= set(names)
    assert not {"asyncio", "OBJECT", "Path", "pytest"} & set(names)


def test_what_a_notebook_has_wrapped_is_what_python_has_built_in(monkeypatch: pytest.MonkeyPatch) -> None:
    @wraps(sum)
    def wrapped(*_: object) -> None:
        print("of the notebook")

    monkeypatch.setitem(globals(), "sum", wrapped)

    assert "of the notebook" not in program_of(adds, {})


def test_values_are_those_of_now() -> None:
    rate = 1

    def step() -> None:
        print(rate)

    before = program_of(step, {})
    rate = 2

    assert ("rate = 1" in before, "rate = 2" in program_of(step, {})) == (True, True)


def adds() -> None:
    print(sum([1, 2]))


def uses_object() -> None:
    print(OBJECT)


def uses_endless() -> None:
    print(ENDLESS)


def uses_beside() -> None:
    print(beside)


def uses_nothing_known() -> None:
    print(unknown)  # type: ignore[name-defined]  # noqa: F821


async def waits() -> None:
    await asyncio.sleep(0)


@pytest.mark.parametrize("bad", [1])
def decorated(bad: int) -> None:
    print(bad)


class Holder:
    def method(self) -> None:
        pass


@pytest.mark.parametrize(
    ("function", "arguments", "sentence"),
    [
        (uses_object, {}, "uses_object uses OBJECT, which is of the type object and cannot travel: make it inside of"),
        (uses_endless, {}, "uses_endless uses ENDLESS, which is of the type list and cannot travel"),
        (
            uses_beside,
            {},
            "uses_beside uses the module tests.python.beside, which is not installed and does not travel",
        ),
        (uses_nothing_known, {}, "uses_nothing_known uses unknown, which is not defined: define it first"),
        (waits, {}, "waits does nothing when it is called: give a function that is not async and has no yield"),
        (decorated, {"bad": 1}, "decorated has a decorator, and only its source travels: take the decorator off"),
        (Holder().method, {}, "Holder.method cannot travel: give a function that is written with def"),
        (lambda: None, {}, "<lambda> cannot travel"),
        (print, {}, "print cannot travel: give a function that is written with def"),
        (train, {}, "train cannot be called with these arguments: missing a required argument: 'epochs'"),
        (train, {"epochs": 1, "speed": 2}, "train cannot be called with these arguments: got an unexpected keyword"),
        (train, {"epochs": Path()}, "the argument epochs is of the type PosixPath and cannot travel"),
        (train, {"epochs": math.inf}, "the argument epochs is of the type float and cannot travel"),
    ],
)
def test_what_cannot_travel_is_one_sentence(
    function: Callable[..., object], arguments: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(InputError) as told:
        program_of(function, arguments)

    assert str(told.value).startswith(sentence)
    assert "\n" not in str(told.value)


def test_a_function_without_a_source_is_one_sentence() -> None:
    names: dict[str, Any] = {}
    exec("def made(): pass", names)

    with pytest.raises(InputError, match=r"^made cannot travel: the source of made is not known: write it into a file"):
        program_of(names["made"], {})


def test_a_class_of_a_notebook_travels(monkeypatch: pytest.MonkeyPatch) -> None:
    text = "def same(made):\n    return made\n@same\nclass Net:\n    def size(self):\n        return 3\n"
    text += "def train():\n    print(Net().size())\n"
    notebook = ModuleType("notebook")
    monkeypatch.setitem(sys.modules, "notebook", notebook)
    monkeypatch.setitem(linecache.cache, "<cell 1>", (len(text), None, text.splitlines(keepends=True), "<cell 1>"))
    exec(compile(text, "<cell 1>", "exec"), vars(notebook))

    made = program_of(notebook.train, {})

    assert text.partition("@same")[2].partition("def train")[0] in made
    assert made.index("def same") < made.index("@same")


def test_annotations_that_are_not_evaluated_need_not_travel(tmp_path: Path) -> None:
    file = tmp_path / "later.py"
    file.write_text("from __future__ import annotations\ndef made(x: Missing = 1) -> Missing:\n    y: Other = x\n")
    names: dict[str, Any] = {}
    exec(compile(file.read_text(), str(file), "exec"), names)

    exec(program_of(names["made"], {}), {"__name__": "__main__"})


def learns(source: str) -> Any:
    """A function of a notebook, whose body has these lines."""
    text = (
        f"import typing\nfrom typing import TYPE_CHECKING\ndef learns() -> None:\n{textwrap.indent(source, '    ')}\n"
    )
    linecache.cache["<cell>"] = (len(text), None, text.splitlines(keepends=True), "<cell>")
    made: dict[str, Any] = {}
    exec(compile(text, "<cell>", "exec"), made)
    return made["learns"]


@pytest.fixture
def lab_beside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The current folder has the module `lab`."""
    (tmp_path / "lab.py").write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)


@pytest.mark.usefixtures("lab_beside")
@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import lab\nexcept ImportError:\n    lab = None",
        "try:\n    import lab\nexcept (KeyError, ModuleNotFoundError):\n    lab = None",
        "try:\n    import lab\nexcept:\n    lab = None",
        "if TYPE_CHECKING:\n    import lab",
        "if typing.TYPE_CHECKING:\n    from lab import gates\nelse:\n    import json",
    ],
)
def test_a_module_that_it_can_do_without_does_not_keep_it_here(source: str) -> None:
    assert "lab" in program_of(learns(source), {})


@pytest.mark.usefixtures("lab_beside")
@pytest.mark.parametrize(
    "source",
    [
        "try:\n    import json\nexcept ImportError:\n    import lab",
        "try:\n    import lab\nexcept ImportError:\n    raise RuntimeError('the lab is closed')",
        "try:\n    import lab\nexcept KeyError:\n    pass",
        "if not typing.TYPE_CHECKING:\n    import lab",
        "if TYPE_CHECKING:\n    pass\nelse:\n    import lab",
    ],
)
def test_a_module_that_it_cannot_do_without_is_named(source: str) -> None:
    with pytest.raises(InputError, match=r"^learns uses the module lab, which"):
        program_of(learns(source), {})


@pytest.mark.parametrize("line", ["import lab", "import lab.gates", "from lab import gates", "from lab.gates import x"])
@pytest.mark.parametrize("place", ["lab.py", "lab/__init__.py", "lab/gates.py"])
def test_a_module_beside_the_notebook_that_it_imports_itself_is_named_before_it_runs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, line: str, place: str
) -> None:
    (tmp_path / place).parent.mkdir(exist_ok=True)
    (tmp_path / place).write_text("")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)

    with pytest.raises(
        InputError, match=r"^learns uses the module lab(\.gates)?, which is not installed and does not tr"
    ):
        program_of(learns(f"import numpy\nimport json\n{line}"), {})
