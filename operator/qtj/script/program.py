"""A user's program, as it is read to make a job of it, and what a file of requirements says.

pip judges most of that file, where it installs it. So what depends on a condition (`; python_version < "3.9"`), and a
version that is no `==`, are taken as they are.
"""

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from qtj.files.documents import read_text
from qtj.terminal.errors import InputError
from qtj_contract.program_source import ProgramSource, parsed, read_source
from qtj_operator.api.names import MAX_NAME_LENGTH, NAME_PATTERN

__all__ = [
    "Program",
    "Requirement",
    "is_program",
    "job_name",
    "not_installed",
    "other_files",
    "read_program",
    "requirements_in",
]

_LIBRARY, _CLASS, _EVALUATES = "qtj_trainer", "Program", "inferring"


_NAME = r"[A-Za-z0-9](?:[-._A-Za-z0-9]*[A-Za-z0-9])?"
_LINE = re.compile(rf"(?P<name>{_NAME})\s*(?:\[[^]]*\])?\s*(?P<version>[^;#]*?)\s*(?P<condition>;.*)?")
_PINNED = re.compile(r"===?\s*([^\s,*]+)")
_OTHER_FILE = re.compile(r"(?:-[rc]|--requirement|--constraint)[\s=]*(?P<name>\S+)")


@dataclass(frozen=True, slots=True)
class Program:
    """A program.

    Attributes:
        path: Its script, as the user named it.
        source: Its text, and what belongs to it.
        requirements: A file with packages that it needs; None where none is named.
    """

    path: Path
    source: ProgramSource
    requirements: Path | None = None

    @property
    def folder(self) -> Path:
        """The folder of the script, in which the program runs."""
        return self.path.absolute().parent

    @property
    def arguments(self) -> Sequence[str]:
        """What it is called with."""
        return self.source.arguments

    @property
    def evaluates(self) -> bool:
        """Whether it tells a training from an inference, so that it can run a second time to evaluate the weights."""
        return self.uses_program and _EVALUATES in self._names()

    @property
    def uses_program(self) -> bool:
        """Whether it uses `qtj_trainer.Program`."""
        names = {*self._names()}
        return _LIBRARY in names and _CLASS in names

    @property
    def lacking(self) -> Sequence[str]:
        """What this machine lacks to run it: one sentence, or none."""
        sentence = not_installed(requirements_in(read_text(self.requirements))) if self.requirements else None
        return () if sentence is None else (sentence,)

    @property
    def notes(self) -> Sequence[str]:
        """What its user should know: one sentence, or none."""
        missing = (
            f"{self.path.name} does not use {_LIBRARY}.{_CLASS}, so a restart begins anew, and neither progress nor "
            "weights are known: see docs/how-to/own-program.md"
        )
        return () if self.uses_program else (missing,)

    def _names(self) -> Iterator[str]:
        """Yields every name that it imports or looks up."""
        for text in self.source.code.values():
            for node in ast.walk(parsed(text)):
                if isinstance(node, ast.Attribute):
                    yield node.attr
                elif isinstance(node, ast.Import | ast.ImportFrom):
                    yield from (alias.name.partition(".")[0] for alias in node.names)
                    yield str(getattr(node, "module", "")).partition(".")[0]


def is_program(path: Path) -> bool:
    """Tells whether a file that a command line names is a program, rather than YAML."""
    return path.suffix == ".py"


def read_program(path: Path, arguments: Sequence[str], requirements: Path | None = None) -> Program:
    """Reads a program, without running it.

    Args:
        path: Its script.
        arguments: What it is called with.
        requirements: A file with packages that it needs.

    Raises:
        InputError: It is no file, or it or a module beside it has a syntax error.
    """
    script = path.absolute()
    texts = {script.name: read_text(path)}
    source = read_source(script, arguments, folder=script.parent)
    for name, text in {**source.code, **texts}.items():
        _check_syntax(path.parent / name, text)
    return Program(path, source, requirements)


def job_name(path: Path, name: str | None) -> str:
    """Returns the name of the job: the given one, or that of the file.

    Raises:
        InputError: No job can have it.
    """
    made = name or re.sub("[^a-z0-9]+", "-", path.stem.lower()).strip("-")
    if not re.fullmatch(NAME_PATTERN, made) or len(made) > MAX_NAME_LENGTH:
        whose = "" if name else f", made of the name of {path.name},"
        what = f'"{made}"{whose} cannot be the name of a job'
        rule = f"it starts with a letter, holds only a-z, 0-9 and -, and has at most {MAX_NAME_LENGTH} characters"
        raise InputError(f"--name: {what}: {rule}")
    return made


def _check_syntax(path: Path, text: str) -> None:
    try:
        parsed(text)
    except SyntaxError as problem:
        raise InputError(f"{path}:{problem.lineno or 1}: this is not Python ({problem.msg}): correct it") from None
    except (ValueError, RecursionError, MemoryError) as problem:
        raise InputError(f"{path}: Python cannot read this ({problem}): correct it") from None


@dataclass(frozen=True, slots=True)
class Requirement:
    """One package.

    Attributes:
        text: The package and its version, without hashes.
        name: Its name.
        pinned: Its version, if it is pinned.
        is_conditional: Whether it is needed somewhere alone.
        has_hash: Whether a hash is named.
    """

    text: str
    name: str
    pinned: str | None
    is_conditional: bool
    has_hash: bool


def requirements_in(text: str) -> Iterator[Requirement]:
    """Yields the packages of a file of requirements; other lines, such as options, are left out."""
    for line in _lines(text):
        what, *hashes = re.split(r"\s--hash[=\s]", line)
        if match := _LINE.fullmatch(what.strip()):
            pinned = _PINNED.fullmatch(match["version"])
            yield Requirement(
                what.strip(), match["name"], pinned and pinned[1], match["condition"] is not None, bool(hashes)
            )


def other_files(text: str) -> Iterator[str]:
    """Yields the other files that a file of requirements names, beside it or at an address."""
    yield from (match["name"] for line in _lines(text) if (match := _OTHER_FILE.match(line)))


def not_installed(requirements: Iterable[Requirement]) -> str | None:
    """Returns one sentence about the packages that this Python lacks, or has in another version; None if it has all."""
    lacking = [what for each in requirements if not each.is_conditional and (what := _lack(each))]
    if not lacking:
        return None
    return f"nothing is installed on this machine, and its Python lacks {', '.join(lacking)}"


def _lines(text: str) -> Iterator[str]:
    """Yields lines as pip joins them, without comments."""
    for line in re.sub(r"\\\n", " ", text.replace("\r\n", "\n")).splitlines():
        if written := re.sub(r"(^|\s)#.*", "", line).strip():
            yield written


def _lack(requirement: Requirement) -> str | None:
    try:
        present = version(requirement.name)
    except PackageNotFoundError:
        return requirement.text
    return f"{requirement.text} (it has {present})" if requirement.pinned not in {None, present} else None
