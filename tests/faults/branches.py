"""Lives that differ by one mishap: what comes before it is lived once, and a process forked there goes on with it."""

import asyncio
import gc
import json
import os
from collections import defaultdict
from collections.abc import Iterable

from tests.faults.mishaps import Mishap, Moment


class Branches:
    """A life, and in a process of its own each life that parts from it by a mishap.

    Attributes:
        mishap: What goes wrong in the life of this process; None in the one that forks.
        problems: What was wrong with each life that has parted, or None.
        to_come: Mishaps whose moment has not come yet.
    """

    def __init__(self, mishaps: Iterable[Mishap] = ()) -> None:
        self.mishap: Mishap | None = None
        self.problems: list[str | None] = []
        self.to_come: dict[Moment, list[Mishap]] = defaultdict(list)
        self._told: int | None = None
        for mishap in mishaps:
            self.to_come[mishap.moment].append(mishap)

    def reach(self, moment: Moment) -> Mishap | None:
        """Returns what goes wrong now, once in each process that is forked for it; None where the life goes on."""
        for mishap in self.to_come.pop(moment, ()):
            reading, writing = os.pipe()
            loop = asyncio._get_running_loop()  # none where a user writes
            child = os.fork()
            if child == 0:
                self.mishap, self._told = mishap, writing
                self.to_come.clear()
                asyncio._set_running_loop(loop)  # a fork forgets it
                gc.disable()  # a life is short, and to look through all that it shares would copy it
                return mishap
            os.close(writing)
            with os.fdopen(reading, encoding="utf-8") as told:
                self.problems.append(json.load(told))
            os.waitpid(child, 0)
        return None

    def ends(self, problem: str | None) -> None:
        """The life of this process is over: one that was forked tells of it, and ends."""
        if self._told is not None:
            with os.fdopen(self._told, "w", encoding="utf-8") as told:
                json.dump(problem, told)
            os._exit(0)
