"""Ends a measurement at once if a program that it needs has ended, and not only when its time is over."""

import asyncio
import sys
from collections.abc import Coroutine
from typing import Any, NoReturn, TypeVar

from bench.scale.control_plane import ControlPlane

Result = TypeVar("Result")
_BEAT = 1.0


class _EndedError(Exception):
    """A program has ended that should run until it is stopped."""


def run(plane: ControlPlane, measured: Coroutine[Any, Any, Result]) -> Result:
    """Measures, as long as the processes of the control plane run; otherwise it ends this program."""
    try:
        return asyncio.run(_guarded(plane, measured))
    except _EndedError as ended:
        sys.exit(f"error: {ended}")


async def _guarded(plane: ControlPlane, measured: Coroutine[Any, Any, Result]) -> Result:
    work, guard = asyncio.ensure_future(measured), asyncio.ensure_future(_alive(plane))
    await asyncio.wait({work, guard}, return_when=asyncio.FIRST_COMPLETED)
    if not work.done():
        work.cancel()
        await asyncio.wait({work})
        return guard.result()
    guard.cancel()
    return work.result()


async def _alive(plane: ControlPlane) -> NoReturn:
    while True:
        for name, process in plane.processes.items():
            if process.poll() is not None:
                words = (plane.folder / f"{name}.log").read_text(errors="replace")[-500:]
                raise _EndedError(f"{name} has ended with code {process.returncode}; its log ends with: {words}")
        await asyncio.sleep(_BEAT)
