"""What this process runs: the text that it has read, and whether it is all of the process.

An editor may have saved other files since then.
"""

import sys
from collections.abc import Iterable, Mapping
from pathlib import Path, PurePath
from types import CodeType, FrameType

from qtj_contract import Env

__all__ = ["is_code_of", "not_imported", "owns_process", "running_code"]


def running_code() -> CodeType | None:
    """Returns the code of the script of this process; None where it is not known, as in another thread."""
    names = vars(sys.modules["__main__"])
    frame: FrameType | None = sys._getframe()  # noqa: SLF001  what `inspect` uses, without its import
    while frame and not (frame.f_globals is names and frame.f_code.co_name == "<module>"):
        frame = frame.f_back
    return frame.f_code if frame else None


def is_code_of(text: str, code: CodeType) -> bool:
    """Returns whether Python makes this code of a text."""
    try:
        return compile(text, code.co_filename, "exec", dont_inherit=True) == code
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False


def not_imported(folder: Path, names: Iterable[str]) -> list[str]:
    """Returns which of these files of a folder no module of this process is from."""
    waiting = {folder / name: name for name in names}
    wanted = {path.name for path in waiting}
    files = (getattr(module, "__file__", None) or "" for module in [*sys.modules.values()])
    for file in (each for each in files if PurePath(each).name in wanted):  # thousands are not
        waiting.pop(Path(file).resolve(), None)
    return [*waiting.values()]


_BETWEEN = {__name__.partition(".")[0], "importlib"}
"""Packages whose functions may stand between a program and this module: `from ... import Program` is a call too."""


def owns_process(environment: Mapping[str, str]) -> bool:
    """Returns whether the code that calls this package is the whole purpose of the process.

    That is a replica of a job, or a script that was started by its name. It is not a notebook or a prompt, whose next
    line comes from a user, nor a module that another program has imported.
    """
    if environment.get(Env.JOB_UID) or environment.get(Env.TF_CONFIG):
        return True
    return not hasattr(sys, "ps1") and _caller() == "__main__"


def _caller() -> str:
    """Returns the name of the module that has called this package."""
    frame = sys._getframe()  # noqa: SLF001  what `inspect` uses, without its import
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
