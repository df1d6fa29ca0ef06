"""Ends a measurement at once if a program that it needs has ended, and not only when its time is over."""

import asyncio
import sys
from collections.abc import Coroutine, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

if TYPE_CHECKING:
    import subprocess

__all__ = ["run"]

Result = TypeVar("Result")
_BEAT = 1.0


class _EndedError(Exception):
    """A program has ended that should run until it is stopped."""


def run(
    programs: Mapping[str, "subprocess.Popen[bytes]"], folder: Path, measured: Coroutine[Any, Any, Result]
) -> Result:
    """Measures, as long as these programs run; otherwise it ends this process.

    Args:
        programs: By name; it may change while they are measured.
        folder: Where each has a log.
        measured: The measurement.
    """
    try:
        return asyncio.run(_guarded(programs, folder, measured))
    except _EndedError as ended:
        sys.exit(f"error: {ended}")


async def _guarded(
    programs: Mapping[str, "subprocess.Popen[bytes]"], folder: Path, measured: Coroutine[Any, Any, Result]
) -> Result:
    work, guard = asyncio.ensure_future(measured), asyncio.ensure_future(_alive(programs, folder))
    await asyncio.wait({work, guard}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
        return guard.result()
    guard.cancel()
    return work.result()


async def _alive(programs: Mapping[str, "subprocess.Popen[bytes]"], folder: Path) -> NoReturn:
    while True:
        for name, process in programs.items():
            if process.poll() is not None:
                words = (folder / f"{name}.log").read_text(errors="replace")[-500:]
                raise _EndedError(f"{name} has ended with code {process.returncode}; its log ends with: {words}")
        await asyncio.sleep(_BEAT)
