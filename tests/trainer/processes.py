"""The trainer as the real processes it is."""

import json
import os
import resource
import subprocess
import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import qtj_contract as contract
from tests.forked import Forked, Server
from tools.background import free_ports, tf_configs, wait_until

PATIENCE = 900.0
"""Seconds after which a process counts as hanging: other work on the machine may slow it down twentyfold."""


REPOSITORY = Path(__file__).parents[2]


@dataclass(frozen=True)
class Ended:
    """A trainer process after its end.

    Attributes:
        was_forked: Whether it was forked from a process that had loaded TensorFlow.
        used_seconds: Processor time that it took.
    """

    code: int
    output: str
    errors: str
    message: contract.TerminationMessage | None
    was_forked: bool
    used_seconds: float

    @property
    def cpu_seconds(self) -> float:
        """Processor time that it took: it tells whether TensorFlow was loaded (8 s), on a busy machine too."""
        assert not self.was_forked, "TensorFlow was loaded before: start it alone"
        return self.used_seconds

    @property
    def metrics(self) -> Mapping[str, float]:
        """The metrics of its termination message."""
        assert self.message is not None, self.errors
        return self.message.metrics

    @property
    def error(self) -> str:
        """The error of its termination message."""
        assert self.message is not None, self.errors
        return self.message.error or ""

    @property
    def weights(self) -> contract.Weights:
        """The weights of its termination message."""
        assert self.message is not None, self.errors
        assert self.message.weights is not None
        return self.message.weights

    @property
    def sentences(self) -> list[str]:
        """The trainer's own output on stderr, without that of TensorFlow's C++ code."""
        return [line for line in self.errors.splitlines() if line.startswith(("error:", "Traceback"))]


class Trainer:
    """Starts trainer processes, and ends those a test leaves behind.

    Args:
        folder: A folder for their files.
        cleanup: Ends them.
        server: Forks them, which saves to load TensorFlow; None starts each alone.

    Attributes:
        alone: Starts each alone: for what is a start's own, and for programs that do without TensorFlow.
    """

    def __init__(self, folder: Path, cleanup: ExitStack, server: Server | None = None) -> None:
        self.folder = folder
        self._cleanup = cleanup
        self._server = server
        self._count = 0
        self.alone: Trainer = self if server is None else Trainer(folder / "alone", cleanup)

    def start(self, *arguments: str, **environment: str) -> "Process":
        return self._start(("-m", "qtj_trainer", *arguments), environment)

    def start_program(self, path: Path, *arguments: str, **environment: str) -> "Process":
        """Starts a user's program."""
        return self._start((str(path), *arguments), environment)

    def _start(self, command: Sequence[str], environment: dict[str, str]) -> "Process":
        self._count += 1
        process = Process(self.folder / str(self._count), command, environment, self._server)
        self._cleanup.callback(process.kill)
        return process

    def run(self, *arguments: str, **environment: str) -> Ended:
        return self.start(*arguments, **environment).end()

    def call(self, function: str, **environment: str) -> None:
        """Calls a function of a module of tests, as `tests.trainer.test_budget.shared_by_eight`, in its own process."""
        module, _, name = function.rpartition(".")
        program = self.folder / f"{function}.py"
        program.write_text(
            f"import sys\nsys.path.insert(0, {str(REPOSITORY)!r})\nfrom {module} import {name}\n{name}()\n"
        )
        ended = self.start_program(program, **environment).end()
        assert ended.code == 0, ended.errors

    def start_cluster(self, size: int, *arguments: str, **environment: str) -> list["Process"]:
        """Starts workers that find each other over loopback, each with its own metrics and profiler ports."""
        hosts = [f"127.0.0.1:{port}" for port in free_ports(size)]
        return [
            self.start(
                *arguments,
                TF_CONFIG=json.dumps({"cluster": {"worker": hosts}, "task": {"type": "worker", "index": index}}),
                QTJ_METRICS_PORT=str(metrics),
                QTJ_PROFILER_PORT=str(profiler),
                **environment,
            )
            for index, (metrics, profiler) in enumerate(zip(free_ports(size), free_ports(size), strict=True))
        ]

    def start_programs(self, size: int, path: Path, *arguments: str, **environment: str) -> list["Process"]:
        """Starts workers that run a user's program."""
        configs = tf_configs(worker=size).values()
        return [self.start_program(path, *arguments, TF_CONFIG=each, **environment) for each in configs]

    def run_cluster(self, size: int, *arguments: str, **environment: str) -> list[Ended]:
        return [process.end() for process in self.start_cluster(size, *arguments, **environment)]


class Process:
    """A running trainer process."""

    def __init__(
        self, folder: Path, command: Sequence[str], environment: dict[str, str], server: Server | None = None
    ) -> None:
        self.temporary = folder / "tmp"
        self.temporary.mkdir(parents=True)
        self._log = folder / "termination-log"
        self._output = folder / "output"
        self._errors = folder / "errors"
        self.environment = environment
        self._has_tensorflow = server is not None and server.kind == "trainer"
        variables = {
            **base_environment(),
            "QTJ_TERMINATION_LOG": str(self._log),
            "TMPDIR": str(self.temporary),
            **environment,
        }
        words = [sys.executable, *command]
        with self._output.open("w") as output, self._errors.open("w") as errors:
            self.popen: Forked | subprocess.Popen[bytes] = (
                server and server.start(words, folder, variables, output.fileno(), errors.fileno())
            ) or subprocess.Popen(words, cwd=folder, env=variables, stdout=output, stderr=errors)

    def wait_for(self, text: str, seconds: float = PATIENCE) -> None:
        """Waits until the output has a text."""
        wait_until(lambda: text in self.output() or self.popen.poll() is not None, seconds)
        assert text in self.output(), self._errors.read_text()

    def output(self) -> str:
        """Returns the output so far."""
        return self._output.read_text()

    def errors(self) -> str:
        """Returns what the process has written to stderr so far."""
        return self._errors.read_text()

    def end(self, seconds: float = PATIENCE) -> Ended:
        """Waits for the end of the process."""
        before = _cpu_seconds_of_children()
        code = self.popen.wait(seconds)
        used = _cpu_seconds_of_children() - before
        was_forked = self._has_tensorflow and isinstance(self.popen, Forked)
        message = contract.TerminationMessage.parse(self._log.read_text()) if self._log.exists() else None
        return Ended(code, self.output(), self._errors.read_text(), message, was_forked, used)

    def kill(self) -> None:
        self.popen.kill()
        self.popen.wait(PATIENCE)


def base_environment() -> dict[str, str]:
    """Returns what all processes have in their environment."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(("QTJ_", "TF_"))}
    return {**inherited, "PYTHONPATH": os.pathsep.join(str(REPOSITORY / each) for each in ("operator", "trainer"))}


def _cpu_seconds_of_children() -> float:
    """Returns the processor time of all processes that have ended: the difference is the time of the last one."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime
