"""An event loop whose clock jumps: a wait of a minute takes no time, and a wait for nothing is an error."""

import asyncio
import selectors
from collections.abc import Callable, Coroutine
from functools import wraps
from typing import Any, ParamSpec, TypeVar

__all__ = ["in_virtual_time", "run"]

P = ParamSpec("P")
T = TypeVar("T")


class _Jump(selectors.SelectSelector):
    """Waits for nobody: when no file is ready, the time has passed."""

    def __init__(self) -> None:
        super().__init__()
        self.now = 0.0

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        if timeout is None:
            raise RuntimeError("everybody waits, and nothing will ever happen")
        self.now += timeout
        return super().select(0)


class _Loop(asyncio.SelectorEventLoop):
    def __init__(self) -> None:
        self._jump = _Jump()
        super().__init__(self._jump)

    def time(self) -> float:
        return self._jump.now


def run(story: Coroutine[None, None, T]) -> T:
    """Runs the coroutine to its end, in no time."""
    with asyncio.Runner(loop_factory=_Loop) as runner:
        return runner.run(story)


def in_virtual_time(test: Callable[P, Coroutine[Any, Any, None]]) -> Callable[P, None]:
    """Makes a test that runs to its end in no time."""

    @wraps(test)
    def instant(*args: P.args, **kwargs: P.kwargs) -> None:
        run(test(*args, **kwargs))

    return instant
