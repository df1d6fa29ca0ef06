"""The trainer until its first step, part by part: the program of the job that `bench.start` runs.

It writes the seconds of each part to $START_PARTS, as JSON: {"part": [processor time, wall-clock time]}.
"""

import json
import os
import time
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, NamedTuple

PARTS = "START_PARTS"
"""The variable with the file."""

BEGAN = "START_BEGAN"
"""The variable with the time at which `qtj run` was started, seconds since 1970."""

_LIBRARIES = {
    "qtj_trainer.replicate.strategy": "import of TensorFlow, with Keras 2",
    "sympy": "import of SymPy",
    "cirq": "import of Cirq, without SymPy",
}
_FIELDS_AFTER_NAME = 11
"""Of /proc/PID/stat, those between the name in brackets and `utime`."""


class Moment(NamedTuple):
    """A moment: processor time, and seconds since 1970."""

    processor: float
    wall: float


class Parts:
    """What has been measured so far."""

    def __init__(self) -> None:
        self._seconds: dict[str, Moment] = {}
        started = Moment(0.0, time.time() - time.process_time())  # this process has not waited yet
        self._seconds["qtj run, until its program starts"] = Moment(
            _of_parents(), started.wall - float(os.environ[BEGAN])
        )
        self._last = started

    def end(self, part: str) -> None:
        """Ends a part."""
        now = Moment(time.process_time(), time.time())
        self._seconds[part] = Moment(*(after - before for after, before in zip(now, self._last, strict=True)))
        self._last = now

    def store(self) -> None:
        """Writes all parts to the file."""
        Path(os.environ[PARTS]).write_text(json.dumps(self._seconds))


def main() -> None:
    """Trains with the arguments of this process, and ends after the first step."""
    parts = Parts()
    from qtj_trainer.replica.garbage import none_collected
    from qtj_trainer.replica.signals import Stop

    stop = Stop()
    stop.listen()
    from qtj_trainer.run import cli

    parts.end("Python, NumPy, the trainer's command and its options")
    with none_collected():
        _import_libraries(parts)
    _watch_training(parts)
    cli.main(stop)


def _import_libraries(parts: Parts) -> None:
    for module, part in _LIBRARIES.items():
        import_module(module)
        parts.end(part)


def _watch_training(parts: Parts) -> None:
    from qtj_trainer.loop.synchronous import Synchronous
    from qtj_trainer.replica.signals import exit_now
    from qtj_trainer.replica.training import Training
    from qtj_trainer.run import train

    def shown(*_: object) -> None:
        parts.end("first step, with its tracing")
        parts.store()
        exit_now(0)

    train._loop = _ending(train._loop, parts, "circuit, plan, model, data")  # noqa: SLF001
    Synchronous.positions = _begun(Synchronous.positions, parts, "what is done before the first step")  # type: ignore[method-assign]
    Training.show = shown  # type: ignore[method-assign,assignment]


def _ending(function: Callable[..., Any], parts: Parts, part: str) -> Callable[..., Any]:
    """Returns the function; when it returns, the part ends."""

    def measured(*arguments: Any) -> Any:
        result = function(*arguments)
        parts.end(part)
        return result

    return measured


def _begun(function: Callable[..., Any], parts: Parts, part: str) -> Callable[..., Any]:
    """Returns the function; when it is called, the part ends."""

    def measured(*arguments: Any) -> Any:
        parts.end(part)
        return function(*arguments)

    return measured


def _of_parents() -> float:
    """Returns the processor time that the supervisor and `qtj run` have taken so far."""
    supervisor = os.getppid()
    return sum(_processor_time(_stat(each)) for each in (supervisor, int(_stat(supervisor)[1])))


def _stat(process: int) -> list[str]:
    """Returns the fields of /proc/PID/stat after the name: its state, its parent, and so on."""
    return Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()


def _processor_time(fields: list[str]) -> float:
    ticks = sum(int(each) for each in fields[_FIELDS_AFTER_NAME : _FIELDS_AFTER_NAME + 2])
    return ticks / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
