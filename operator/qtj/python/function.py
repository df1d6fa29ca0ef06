"""A function as a program: its source, and by value what it uses.

Symbols say which names a source takes from outside, also in nested functions, defaults and annotations; each of them is
looked up where the function has it, and written as an import, as source or as a value.
"""

import __future__

import ast
import builtins
import importlib.util
import inspect
import linecache
import math
import symtable
import sys
import textwrap
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from contextlib import suppress
from pathlib import Path, PurePath
from types import FunctionType, ModuleType
from typing import Any

from qtj.terminal.errors import InputError
from qtj_contract import Env

__all__ = ["program_of"]

_PLAIN = (type(None), bool, int, float, complex, str, bytes)
_INSTALLED = {"site-packages", "dist-packages"}
"""Folders into which Python and Debian install packages."""
_IMPORT_ERRORS = {"ModuleNotFoundError", "ImportError", "Exception", "BaseException"}
_ANNOTATIONS = "from __future__ import annotations"


_GIVEN = f'**__import__("json").loads(__import__("os").environ["{Env.PARAMETERS}"])'
"""The values of a trial, without a name that the function might use for something else."""


def program_of(function: Callable[..., object], arguments: Mapping[str, Any], parameters: Collection[str] = ()) -> str:
    """Returns the text of a program that calls a function.

    Args:
        function: The function.
        arguments: What it is called with, by name.
        parameters: The names of arguments whose values the trial of a study has.

    Raises:
        InputError: Something cannot travel.
    """
    if not isinstance(function, FunctionType) or function.__name__ == "<lambda>":
        what = getattr(function, "__qualname__", None) or repr(function)
        raise InputError(f"{what} cannot travel: give a function that is written with def")
    if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
        raise InputError(
            f"{function.__name__} does nothing when it is called: give a function that is not async and has no yield"
        )
    _check_call(function, {**dict.fromkeys(parameters), **arguments})
    parts = _Parts(function.__name__)
    parts.add(function.__name__, function)
    given = [f"{name}={_value(f'the argument {name}', value)}" for name, value in arguments.items()]
    call = ", ".join([*given, *([_GIVEN] if parameters else [])])
    return f'{parts.text}\n\nif __name__ == "__main__":\n    {function.__name__}({call})\n'


class _Parts:
    """What a program is made of, each part after those that it needs.

    Args:
        whose: The name of the function, for messages.
    """

    def __init__(self, whose: str) -> None:
        self._whose = whose
        self._imports: dict[str, None] = {}
        self._values: dict[str, str] = {}
        self._sources: dict[str, str] = {}
        self._known: dict[str, object] = {}

    @property
    def text(self) -> str:
        """All of them."""
        imports = sorted(self._imports, key=lambda line: line != _ANNOTATIONS)
        head = [
            f'"""The function {self._whose}, and what it uses."""',
            "\n".join(imports),
            "\n".join(self._values.values()),
        ]
        return "\n\n".join(filter(None, head)) + "\n\n\n" + "\n\n".join(self._sources.values())

    def add(self, name: str, value: object) -> None:
        """Adds what a name stands for, and all that this needs."""
        if name in self._known:
            self._check_same(name, value)
            return
        self._known[name] = value
        if isinstance(value, ModuleType):
            self._add_module(name, value)
        elif isinstance(value, FunctionType | type):
            self._add_definition(name, value)
        elif origin := _importable(value):
            self._imports[_import(f"from {origin[0]} import {origin[1]}", name, origin[1])] = None
        else:
            self._values[name] = f"{name} = {_value(f'{self._whose} uses {name}, which', value)}"

    def _check_same(self, name: str, value: object) -> None:
        if self._known[name] is not value:
            raise InputError(f"{self._whose} uses two things by the name {name}: give one of them another name")

    def _add_module(self, name: str, module: ModuleType) -> None:
        if not _is_installed(module.__name__):
            raise self._stays(module.__name__)
        self._imports[_import(f"import {module.__name__}", name, module.__name__)] = None

    def _stays(self, module: str) -> InputError:
        return InputError(
            f"{self._whose} uses the module {module}, which is not installed and does not travel: write "
            "a program in a file, with which the modules beside it travel, and use Job.from_program"
        )

    def _add_definition(self, name: str, value: FunctionType | type) -> None:
        if origin := _importable(value):
            self._imports[_import(f"from {origin[0]} import {origin[1]}", name, origin[1])] = None
            return
        if name != value.__name__:
            self.add(value.__name__, value)
            self._sources[name] = f"{name} = {value.__name__}\n"
            return
        source = _source(value, self._whose)
        if beside := next(filter(_is_beside, _imported(source)), None):
            raise self._stays(beside)
        for each, found in _outside(source, value, self._whose):
            self.add(each, found)
        if _postpones(value):
            self._imports[_ANNOTATIONS] = None
        self._sources[name] = source


def _import(line: str, name: str, known: str) -> str:
    return line if name == known else f"{line} as {name}"


def _check_call(function: FunctionType, arguments: Mapping[str, Any]) -> None:
    try:
        inspect.signature(function).bind(**arguments)
    except TypeError as problem:
        raise InputError(f"{function.__name__} cannot be called with these arguments: {problem}") from None


def _source(value: FunctionType | type, whose: str) -> str:
    try:
        source = textwrap.dedent(_written(value))
        (made,) = ast.parse(source).body
    except (OSError, TypeError, SyntaxError, ValueError):
        what = f"the source of {value.__name__} is not known"
        raise InputError(f"{whose} cannot travel: {what}: write it into a file and use Job.from_program") from None
    if getattr(made, "decorator_list", ()) and isinstance(value, FunctionType):
        raise InputError(f"{value.__name__} has a decorator, and only its source travels: take the decorator off")
    return source


def _written(value: FunctionType | type) -> str:
    """Returns a source as it is written.

    Python knows the source of a function of a notebook, but not that of a class there: its methods say in which cell
    it is.
    """
    try:
        return inspect.getsource(value)
    except (OSError, TypeError):
        for method in filter(inspect.isfunction, vars(value).values()):
            lines = linecache.getlines(method.__code__.co_filename)
            for made in ast.parse("".join(lines)).body:
                if isinstance(made, ast.ClassDef) and made.name == value.__name__:
                    first = min([made.lineno, *(each.lineno for each in made.decorator_list)])
                    return "".join(lines[first - 1 : made.end_lineno])
        raise


def _outside(source: str, value: FunctionType | type, whose: str) -> Iterator[tuple[str, object]]:
    """Yields the names that a source takes from outside, and what they stand for."""
    known, built_in = _names_around(value), vars(builtins)
    text = _without_annotations(source) if _postpones(value) else source
    for name in sorted(_free(symtable.symtable(text, "function", "exec"))):
        if name.startswith("__"):  # it is the program's own, such as __name__
            continue
        if name in known:
            # A notebook has wrapped what Python has built in, such as `open`.
            if name not in built_in or inspect.unwrap(known[name]) is not built_in[name]:
                yield name, known[name]
        elif name not in built_in:
            raise InputError(f"{whose} uses {name}, which is not defined: define it first")


def _postpones(value: FunctionType | type) -> bool:
    """Tells whether annotations are not evaluated where it is written; of a class this is not known."""
    return isinstance(value, FunctionType) and bool(value.__code__.co_flags & __future__.annotations.compiler_flag)


class _Bare(ast.NodeTransformer):
    """Takes annotations away."""

    def visit_arg(self, node: ast.arg) -> ast.arg:
        return ast.arg(node.arg)

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        node.returns = None
        return self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        return ast.Assign([node.target], node.value or ast.Constant(None), lineno=node.lineno)


def _without_annotations(source: str) -> str:
    return ast.unparse(_Bare().visit(ast.parse(source)))


def _names_around(value: FunctionType | type) -> Mapping[str, Any]:
    if isinstance(value, type):
        return vars(sys.modules[value.__module__])
    cells = zip(value.__code__.co_freevars, value.__closure__ or (), strict=True)
    held = {name: cell.cell_contents for name, cell in cells if _is_filled(cell)}
    return {**value.__globals__, **held}


def _is_filled(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


def _free(table: symtable.SymbolTable) -> Iterator[str]:
    """Yields the names that a text refers to and does not define at its top."""
    own = {each.get_name() for each in table.get_symbols() if each.is_assigned() or each.is_namespace()}
    yield from set(_referred(table, at_top=True)) - own


def _referred(table: symtable.SymbolTable, *, at_top: bool = False) -> Iterator[str]:
    for each in table.get_symbols():
        if each.is_referenced() and (at_top or each.is_global()):
            yield each.get_name()
    for child in table.get_children():
        yield from _referred(child)


def _importable(value: object) -> tuple[str, str] | None:
    """Returns module and name of what is part of an installed module."""
    module, name = getattr(value, "__module__", None), getattr(value, "__qualname__", None)
    if not isinstance(module, str) or not isinstance(name, str) or "." in name or not _is_installed(module):
        return None
    return (module, name) if getattr(sys.modules.get(module), name, None) is value else None


def _is_installed(module: str) -> bool:
    """Tells whether a module is one that another machine has, or can install, by its name."""
    top = module.partition(".")[0]
    if top in sys.stdlib_module_names or top.startswith("qtj_"):
        return True
    found = sys.modules.get(top)
    file = getattr(found, "__file__", None)
    places = [file] if file else [*getattr(found, "__path__", ())]
    return any(_INSTALLED & {*PurePath(str(place)).parts} for place in places)


def _imported(source: str) -> Iterator[str]:
    """Yields the modules that a source imports itself, and needs when it runs."""
    waiting: list[ast.AST] = [ast.parse(source)]
    while waiting:
        node = waiting.pop()
        if isinstance(node, ast.Import):
            yield from (each.name for each in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module
        not_needed = _not_needed(node)
        waiting += [each for each in ast.iter_child_nodes(node) if each not in not_needed]


def _not_needed(node: ast.AST) -> list[ast.stmt]:
    """Returns the statements in one whose imports may fail, or are for a type checker."""
    if isinstance(node, ast.Try) and any(map(_goes_on_without, node.handlers)):
        return node.body
    if isinstance(node, ast.If) and isinstance(node.test, ast.Name | ast.Attribute):
        return node.body if _last_name(node.test) == "TYPE_CHECKING" else []
    return []


def _goes_on_without(handler: ast.ExceptHandler) -> bool:
    """Tells whether a part of a `try` lets the program go on without a module."""
    kinds = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    caught = any(kind is None or _last_name(kind) in _IMPORT_ERRORS for kind in kinds)
    return caught and not any(isinstance(each, ast.Raise) for each in handler.body)


def _last_name(node: ast.expr) -> str:
    return ast.unparse(node).rpartition(".")[2]


def _is_beside(module: str) -> bool:
    """Tells whether a module is in the folder of the script or of the notebook: the program runs in another one."""
    top, found = module.partition(".")[0], None
    if top not in sys.stdlib_module_names:
        with suppress(ImportError, ValueError):  # it is not here, or was made by hand
            found = importlib.util.find_spec(top)
    places: Iterable[object] = (found.submodule_search_locations or [found.origin]) if found else []
    here = {Path.cwd(), Path(sys.path[0]).absolute()}
    return any(PurePath(str(place)).parent in here for place in places)


def _value(what: str, value: object) -> str:
    try:
        is_plain = _is_plain(value)
    except RecursionError:
        is_plain = False
    if not is_plain:
        kind = type(value).__name__
        raise InputError(
            f"{what} is of the type {kind} and cannot travel: make it inside of the function, or give numbers, texts, "
            "or lists, tuples, sets and dictionaries of them"
        )
    return repr(value)


def _is_plain(value: object) -> bool:
    if type(value) in {list, tuple, set, frozenset}:
        return all(map(_is_plain, value))  # type: ignore[call-overload]
    if type(value) is dict:
        return all(_is_plain(each) for pair in value.items() for each in pair)
    if isinstance(value, float) and not math.isfinite(value):  # Python writes no such number that it can read
        return False
    return type(value) in _PLAIN
