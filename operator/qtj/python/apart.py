"""Work that starts an event loop, also where one is running, as in a notebook."""

import asyncio
from collections.abc import Callable
from concurrent.futures import Future
from contextvars import copy_context
from threading import Event, Thread
from typing import TypeVar

__all__ = ["apart"]

T = TypeVar("T")


def apart(work: Callable[[Event], T]) -> T:
    """Does some work: in a thread of its own if an event loop runs in this one, else here.

    Args:
        work: What to do. It gets an event, which is set if the user has interrupted it, so that it ends soon.

    Raises:
        KeyboardInterrupt: The user has interrupted it.
    """
    left = Event()
    try:
        asyncio.get_running_loop()
    except RuntimeError:
        return work(left)
    answer: Future[T] = Future()
    # The context says to which cell of a notebook the output goes.
    Thread(target=copy_context().run, args=(_settle, answer, work, left), daemon=True).start()
    try:
        return answer.result()
    except KeyboardInterrupt:
        left.set()
        raise


def _settle(answer: Future[T], work: Callable[[Event], T], left: Event) -> None:
    try:
        answer.set_result(work(left))
    except BaseException as problem:  # noqa: BLE001  it is raised where the answer is awaited
        answer.set_exception(problem)
