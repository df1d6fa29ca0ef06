"""What this process has read of a program: an editor may have saved other files since then."""

import sys
from collections.abc import Iterable
from pathlib import Path, PurePath
from types import CodeType, FrameType

__all__ = ["is_code_of", "not_imported", "running_code"]


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
