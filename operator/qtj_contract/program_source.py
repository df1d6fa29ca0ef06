"""What a user's program is: its text, that of the local modules it imports, its arguments and the files it names.

Two runs of the same program can continue each other; two of different programs are two experiments. The command and the
trainer find all this by reading the program, without running it. So a module that is imported by a computed name, and a
file whose name is computed, are not found.
"""

import ast
import difflib
import hashlib
import json
import warnings
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path, PurePosixPath
from typing import Any, Self

from qtj_contract.whole_file import regular

__all__ = ["MOST_FILES", "ProgramSource", "parsed", "read_code", "read_modules", "read_source", "without_epochs"]

MOST_FILES = 200
"""The most files of a program that are read."""
_MOST_BYTES_OF_CODE = 1 << 20
_MOST_BYTES_OF_DATA = 1 << 28
"""Of a larger file of data, only the size is compared."""
_LONGEST_NAME = 255
_EPOCHS = "--epochs"


@dataclass(frozen=True, slots=True, kw_only=True)
class ProgramSource:
    """A program as it was when it started.

    Attributes:
        script: The name of its script, relative to the folder of its modules.
        code: The text of the script and of its modules, by their names relative to that folder.
        data: Digests of the files that the text or the arguments name, by these names.
        arguments: The arguments.
    """

    script: str
    code: Mapping[str, str]
    data: Mapping[str, str]
    arguments: Sequence[str] = ()

    @classmethod
    def from_dict(cls, fields: Any) -> Self:
        """Reads what `to_dict` returned, from decoded JSON.

        Raises:
            ValueError: It is something else.
        """
        if not isinstance(fields, dict):
            raise ValueError("not an object")
        try:
            code, data = ({str(name): str(value) for name, value in fields[each].items()} for each in ("code", "data"))
            return cls(script=str(fields["script"]), code=code, data=data, arguments=[*map(str, fields["arguments"])])
        except (KeyError, AttributeError, TypeError) as error:
            raise ValueError(f"not a program: {error}") from None

    def to_dict(self) -> dict[str, Any]:
        """Returns the program as JSON has it."""
        return asdict(self)

    def digests(self) -> Mapping[str, str]:
        """Returns the SHA-256 digests of its text, by file."""
        return {name: hashlib.sha256(text.encode()).hexdigest() for name, text in self.code.items()}

    @property
    def digest(self) -> str:
        """The SHA-256 digest of all its text."""
        return hashlib.sha256(json.dumps(self.digests(), sort_keys=True).encode()).hexdigest()

    def changes_since(self, earlier: Self) -> list[str]:
        """Returns what differs from an earlier program, a few words each, arguments first: `--seed 0 -> 1`.

        Data count only where both have them: what is new may be what the earlier program has written.
        """
        names = sorted({*earlier.code, *self.code})
        code = (_changed_text(name, earlier.code.get(name), self.code.get(name)) for name in names)
        data = (f"{name} changed" for name in self.data if earlier.data.get(name, self.data[name]) != self.data[name])
        return [each for each in (*self.changed_arguments(earlier), *code, *data) if each]

    def changed_arguments(self, earlier: Self) -> list[str]:
        """Returns which arguments differ from those of an earlier program."""
        return list(_changed_arguments(earlier.arguments, self.arguments))


def read_source(
    script: Path, arguments: Sequence[str] = (), *, folder: Path | None = None, root: Path | None = None
) -> ProgramSource:
    """Reads a program and what belongs to it.

    Args:
        script: Its file. What cannot be read or parsed is left out.
        arguments: Its arguments, after the script.
        folder: The working directory, by which it names files; None for the current one.
        root: The folder of its modules; None for that of the script.
    """
    root = root or script.parent
    main = script.relative_to(root).as_posix()
    code = read_modules(main, root)
    texts = (each.value for text in code.values() for each in ast.walk(_tree(text)) if isinstance(each, ast.Constant))
    named = {part for each in arguments for part in (each, each.partition("=")[2])}
    named.update(each for each in texts if isinstance(each, str))
    found = ((name, _digest((folder or Path.cwd()) / name)) for name in sorted(named - {""}) if _may_be_a_file(name))
    data = {name: digest for name, digest in found if digest}
    return ProgramSource(script=main, code=code, data=data, arguments=list(arguments))


def read_modules(script: str, root: Path) -> dict[str, str]:
    """Returns the text of a script and of the modules that it imports from a folder, by their names there.

    Args:
        script: The name of its file in the folder. What cannot be read is left out.
        root: The folder.
    """
    code: dict[str, str] = {}
    waiting = [script]
    while waiting and len(code) < MOST_FILES:
        name = waiting.pop()
        text = read_code(root / name)
        if name not in code and text is not None:
            code[name] = text
            waiting += _local_modules(_tree(text), root, PurePosixPath(name).parent)
    return dict(sorted(code.items()))


def without_epochs(arguments: Sequence[Any]) -> list[Any]:
    """Returns arguments without the option that says how long to train: more epochs continue a training."""
    pairs = zip([None, *arguments], arguments, strict=False)
    return [each for before, each in pairs if before != _EPOCHS and str(each).partition("=")[0] != _EPOCHS]


def read_code(path: Path) -> str | None:
    """Returns the text of a module, with the ends of lines of Unix; None if it cannot be read or is too large."""
    try:
        with regular(path) as file:
            text = file.read(_MOST_BYTES_OF_CODE + 1)
        lines = text.decode("utf-8-sig").replace("\r\n", "\n").replace("\r", "\n")
        return lines if len(text) <= _MOST_BYTES_OF_CODE else None
    except (OSError, ValueError):
        return None


def parsed(text: str) -> ast.Module:
    """Parses the text of a module, without the warnings about it, which Python shows when it runs.

    Raises:
        SyntaxError: It is not Python.
        ValueError, RecursionError, MemoryError: Python cannot read it.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return ast.parse(text)


def _tree(text: str) -> ast.Module:
    try:
        return parsed(text)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ast.Module([], [])


def _local_modules(tree: ast.Module, folder: Path, package: PurePosixPath) -> Iterator[str]:
    """Yields the files in a folder, relative to it, that the module in this package of it imports."""
    for each in ast.walk(tree):
        if isinstance(each, ast.Import):
            for alias in each.names:
                yield from _files_of(folder, PurePosixPath(*alias.name.split(".")))
        elif isinstance(each, ast.ImportFrom):
            base = (
                PurePosixPath(*package.parts[: len(package.parts) - each.level + 1]) if each.level else PurePosixPath()
            )
            module = base.joinpath(*(each.module or "").split("."))
            yield from _files_of(folder, module)
            for alias in each.names:
                yield from _files_of(folder, module / alias.name)


def _files_of(folder: Path, module: PurePosixPath) -> Iterator[str]:
    """Yields the files that the import of a module reads: it and the packages that it is in."""
    for part in filter(lambda each: each.name, (module, *module.parents)):
        for name in (f"{part}.py", f"{part}/__init__.py"):
            if (folder / name).is_file():
                yield name


def _may_be_a_file(name: str) -> bool:
    return len(name) <= _LONGEST_NAME and not any(each in name for each in "\0\n")


def _digest(path: Path) -> str:
    """Returns a digest of a file; empty if it has no content of its own, or is code, which is compared as text."""
    try:
        if not path.is_file() or path.suffix == ".py":
            return ""
        size = path.stat().st_size  # 0 of the files of /proc, which differ each time
        if not size:
            return ""
        if size > _MOST_BYTES_OF_DATA:
            return f"{size} bytes"
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()
    except (OSError, ValueError):
        return ""


def _changed_arguments(before: Sequence[str], now: Sequence[str]) -> Iterator[str]:
    """Yields changed options with both values; all arguments where they are no options with values."""
    options, others = _options(before), _options(now)
    if options is None or others is None:
        if [*before] != [*now]:
            yield f"arguments {' '.join(before) or 'none'} -> {' '.join(now) or 'none'}"
        return
    for name in (*options, *(each for each in others if each not in options)):
        if options.get(name) != others.get(name):
            yield f"{name} {options.get(name) or 'not given'} -> {others.get(name) or 'not given'}"


def _options(arguments: Sequence[str]) -> dict[str, str] | None:
    """Returns options and their values; None if there are others, or one twice."""
    found: dict[str, str] = {}
    rest: list[str] = [part for each in arguments for part in (each.split("=", 1) if each.startswith("--") else [each])]
    while rest:
        name = rest.pop(0)
        if not name.startswith("-") or name in found:
            return None
        found[name] = rest.pop(0) if rest and not rest[0].startswith("-") else "given"
    return found


def _changed_text(name: str, before: str | None, now: str | None) -> str:
    if before is None or now is None:
        return f"{name} {'is new' if before is None else 'is not used any more'}"
    if before == now:
        return ""
    lines = [*difflib.unified_diff(before.splitlines(), now.splitlines(), n=0, lineterm="")][2:]
    many = max(sum(line.startswith(sign) for line in lines) for sign in "+-")
    return f"{name} changed: {many} {'line' if many == 1 else 'lines'}" if many else f"{name} changed: ends of lines"
