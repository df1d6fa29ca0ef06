"""Asks for the next points of a study, in a process of its own: Optuna computes for a while, and takes memory."""

import asyncio
import json
import os
import sys
from collections.abc import Sequence

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import TrialStatus
from qtj_operator.core.study.points import Point
from qtj_operator.core.study.suggestion import asked, suggested

__all__ = ["NoSuggestion", "suggest"]

_PATIENCE = 120.0
"""Seconds for which an answer is awaited."""
_MOST_POINTS = 8
"""How many points are asked for at once. The next pass asks for others, when these are recorded and others had their
turn."""


class NoSuggestion(Exception):
    """There is no point; the message is one sentence for the author of the study."""


async def suggest(spec: StudySpec, trials: Sequence[TrialStatus], count: int) -> list[Point]:
    """Returns the next points of a study.

    Args:
        spec: Its spec.
        trials: All that have started.
        count: How many points are wanted; fewer are returned where they are many.

    Raises:
        NoSuggestion: The sampler is not there, or gives no answer.
    """
    request = json.dumps(asked(spec, trials, min(count, _MOST_POINTS))).encode()
    code, output, errors = await _asked(request)
    if code != 0:
        last = (errors.decode(errors="replace").strip().splitlines() or [f"it ended with {code}"])[-1]
        raise NoSuggestion(f"the sampler of spec.search.algorithm gave no point ({last[:200]}): search with Random")
    answer = json.loads(output)
    if "refused" in answer:
        raise NoSuggestion(str(answer["refused"]))
    return suggested(spec, trials, answer["points"])


async def _asked(request: bytes) -> tuple[int | None, bytes, bytes]:
    environment = {**os.environ, "OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}
    pipe = asyncio.subprocess.PIPE
    command = (sys.executable, "-P", "-m", "qtj_operator.sampler")
    # Not in the group of the terminal, whose Ctrl-C is for the study.
    child = await asyncio.create_subprocess_exec(
        *command, stdin=pipe, stdout=pipe, stderr=pipe, env=environment, process_group=0
    )
    try:
        output, errors = await asyncio.wait_for(child.communicate(request), _PATIENCE)
    except TimeoutError:
        raise NoSuggestion(f"the sampler of spec.search.algorithm gave no point within {_PATIENCE:g} s") from None
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()
    return child.returncode, output, errors
