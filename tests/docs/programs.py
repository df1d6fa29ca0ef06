"""What each program of the documentation is checked with: the program itself, where there is one here."""

import importlib.util
import re
import subprocess
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from pathlib import Path

import typer
from typer.core import TyperGroup
from typer.main import get_command

from qtj.commands.main import app
from tools.cluster.tools import helm, kubectl
from tools.docs.files import ROOT

Words = Sequence[str]

NOT_CHECKED: Mapping[str, str] = {
    **dict.fromkeys(
        ("cat", "cd", "cp", "eval", "export", "grep", "head", "mkdir", "sed", "source"), "every shell has them"
    ),
    **dict.fromkeys(
        ("docker", "gcloud", "git", "promtool", "tensorboard", "velero"),
        "they belong to others, and are not needed to test",
    ),
}
"""Programs whose options are not checked, each with the reason; of their arguments, files of this repository are."""
_OF_THE_REPOSITORY = re.compile(r"\.?/?(?:crds|deploy|docs|examples|operator|requirements|trainer)(?:/[\w./-]*)?")
_PLACEHOLDER = re.compile(r"[A-Z][A-Z_./]*")
_MAKEFILE = (ROOT / "Makefile").read_text()


def mistakes(words: Words) -> Iterator[str]:
    """Yields what is wrong with a command: an unknown program, verb, option, target or file."""
    program, *rest = [words[0].removeprefix(".venv/bin/"), *words[1:]]
    program = re.sub(r"^python[\d.]*$", "python", program)
    if program in PROGRAMS:
        yield from PROGRAMS[program](rest)
    elif (ROOT / program).is_file():
        yield from _script(program, rest)
    elif program not in NOT_CHECKED:
        yield f"{program} is no program that tests/docs/programs.py knows"
    yield from (f"{word} does not exist" for word in rest if _OF_THE_REPOSITORY.fullmatch(word) and not _exists(word))


def _exists(path: str) -> bool:
    return (ROOT / path).exists()


def _qtj(words: Words) -> Iterator[str]:
    application = get_command(app)
    assert isinstance(application, TyperGroup)
    if not words or words[0] in {"--version", "--help", "-h"}:
        return
    name, *rest = words
    if name not in application.commands:
        yield f"qtj has no command {name}"
        return
    if {"--help", "-h"} & set(rest):
        return
    try:
        application.commands[name].make_context(name, list(rest))
    except typer.TyperException as problem:
        yield problem.format_message()


def _make(words: Words) -> Iterator[str]:
    targets = set(re.findall(r"^([a-z0-9-]+):", _MAKEFILE, re.MULTILINE))
    for word in words:
        name, is_variable, _ = word.partition("=")
        if is_variable and f"$({name}" not in _MAKEFILE:
            yield f"the Makefile has no variable {name}"
        elif not is_variable and word not in targets:
            yield f"the Makefile has no target {word}"


def _kubectl(words: Words) -> Iterator[str]:
    if words and words[0] == "qtj":
        yield from _qtj(words[1:])
    elif words and words[0] != "krew":  # a plugin of others; tests/release/test_plugin.py runs it
        yield from _cobra(kubectl(), "kubectl", words)


def _helm(words: Words) -> Iterator[str]:
    yield from _cobra(helm(), "helm", words)


def is_built(program: str) -> bool:
    """Whether a program that only `make` builds is here; otherwise its options are not checked."""
    path = {"kubectl": kubectl, "helm": helm}.get(program)
    return path is None or Path(path()).exists()


def _cobra(path: str, program: str, words: Words) -> Iterator[str]:
    """The program reads its options from left to right, so it complains about a wrong one before it shows its help."""
    if not is_built(program):
        return
    asked = list(words[: words.index("--")] if "--" in words else words)
    code, output = _help_of(path, (*(word for word in asked if word != "-f=-"), "--help"))
    usage = re.search(rf"^ +{program} (?:\[flags\] )?([a-z-]+)", output.partition("Usage:")[2], re.MULTILINE)
    verbs = [word for word in asked if not word.startswith("-")]
    if code:
        yield output.strip().splitlines()[0]
    elif not usage or usage[1] not in verbs:
        yield f"{program} has no command {verbs[0]}"


@cache
def _help_of(path: str, words: tuple[str, ...]) -> tuple[int, str]:
    ended = subprocess.run([path, *words], capture_output=True, text=True, check=False, cwd="/", timeout=60)
    return ended.returncode, ended.stderr + ended.stdout


def _python(words: Words) -> Iterator[str]:
    if words[0] == "-m":
        if words[1] == "pip":
            yield from _pip(words[2:])
        elif not _is_module(words[1]):
            yield f"there is no module {words[1]}"
    elif words[0] == "-c":
        compile(words[1], "the command", "exec")
    elif not _exists(words[0]):
        yield f"{words[0]} does not exist"


def _is_module(name: str) -> bool:
    """Whether a module can be run: of this checkout, which need not be installed, or of the environment."""
    here = ROOT / name.replace(".", "/")
    installed = name.partition(".")[0] not in {"bench", "tests", "tools"} and importlib.util.find_spec(name)
    return here.is_dir() or here.with_suffix(".py").is_file() or bool(installed)


def _pip(words: Words) -> Iterator[str]:
    """What is installed from this checkout exists, with its extras."""
    for word in words:
        found = re.fullmatch(r"(\.[\w./]*)(?:\[([\w,]+)])?", word)
        if not found:
            continue
        folder = ROOT / found[1]
        project = tomllib.loads((folder / "pyproject.toml").read_text())["project"]
        unknown = set(filter(None, (found[2] or "").split(","))) - set(project.get("optional-dependencies", ()))
        yield from (f"{word}: there is no extra {extra}" for extra in sorted(unknown))


def _uv(words: Words) -> Iterator[str]:
    if words[0] == "pip":
        yield from _pip(words[2:])


def _script(path: str, words: Words) -> Iterator[str]:
    """Options and verbs of a script of this repository are written in it."""
    folder = (ROOT / path).parent
    texts = "\n".join(each.read_text() for each in folder.glob("*.sh"))
    asked = [word for word in words if not re.search(r"[./]", word) and not _PLACEHOLDER.fullmatch(word)]
    yield from (f"{path} does not know {word}" for word in asked if not re.search(rf"{re.escape(word)}\b", texts))


PROGRAMS: Mapping[str, Callable[[Words], Iterator[str]]] = {
    "helm": _helm,
    "kubectl": _kubectl,
    "kubectl-qtj": _qtj,
    "make": _make,
    "pip": _pip,
    "python": _python,
    "qtj": _qtj,
    "uv": _uv,
}
"""Programs whose arguments are checked."""
