"""The API server, or the etcd behind it, goes away and comes back: the operator waits, and carries on."""

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import replace
from pathlib import Path
from typing import Generic, Self, TypeVar

import pytest

from qtj_operator.cluster.scope import check_installed
from qtj_operator.controller.client import ApiError
from tests.controller.conftest import install_crd
from tests.controller.go_between import Wire
from tests.controller.memory import Cluster, RecordingClient
from tests.controller.operator_process import EXAMPLE, WORKERS, Operator, running, started
from tests.controller.test_leader import works
from tests.controller.virtual_time import in_virtual_time
from tools.api_server import ApiServer, Machine, Programs
from tools.background import free_port, wait_until

NAMESPACE = "lab"
OUTAGE = 6.0
"""Seconds without an API server: less than a leader may be without its lease."""
RECOVERED = 15.0
"""Seconds in which the operator is at work again: its pauses are of 3 at most, and machines may be busy."""
ELECTION = ("--lease-namespace", NAMESPACE)

T = TypeVar("T")


@pytest.fixture
def machine(programs: Programs, tmp_path: Path) -> Machine:
    """A machine of this test alone: its API server may go away."""
    return Machine(programs, tmp_path)


@pytest.fixture
def server(machine: Machine) -> Iterator[ApiServer]:
    with machine.started() as server:
        prepare(server)
        yield server


def prepare(server: ApiServer) -> None:
    install_crd(server)
    server.kubectl("create", "namespace", NAMESPACE)


def has_its_pods(server: ApiServer) -> bool:
    return server.names("pods", NAMESPACE) == list(WORKERS)


def test_an_operator_outlives_a_restart_of_api_server_and_etcd(machine: Machine, tmp_path: Path) -> None:
    with ExitStack() as stack:
        etcd = stack.enter_context(Restartable(machine.etcd))
        front = stack.enter_context(Restartable(machine.apiserver))
        etcd.start()
        server = front.start()
        prepare(server)
        operator = stack.enter_context(running(server, NAMESPACE, tmp_path))

        front.stop()
        etcd.stop()
        etcd.start()
        front.start()

        server.kubectl("apply", "-n", NAMESPACE, "-f", str(EXAMPLE))
        wait_until(lambda: has_its_pods(server), RECOVERED, "the pods")
        assert operator.process.poll() is None


def test_a_leader_goes_on_after_an_outage_shorter_than_its_lease_with_what_was_applied_meanwhile(
    machine: Machine, server: ApiServer, tmp_path: Path
) -> None:
    with behind_a_wire(machine, server, tmp_path) as (wire, operator):
        wait_until(lambda: works(operator), 10, "the operator works")

        wire.cut()
        server.kubectl("apply", "-n", NAMESPACE, "-f", str(EXAMPLE))
        time.sleep(OUTAGE)
        wire.mend()

        wait_until(lambda: has_its_pods(server), RECOVERED, "the pods")
        assert operator.process.poll() is None


def test_an_operator_that_starts_before_its_api_server_waits_for_it(
    machine: Machine, server: ApiServer, tmp_path: Path
) -> None:
    with behind_a_wire(machine, server, tmp_path, connected=False) as (wire, operator):
        time.sleep(OUTAGE)
        assert operator.process.poll() is None

        wire.mend()

        server.kubectl("apply", "-n", NAMESPACE, "-f", str(EXAMPLE))
        wait_until(lambda: has_its_pods(server), RECOVERED, "the pods")


@pytest.mark.slow
def test_an_operator_starts_over_a_line_that_breaks_within_answers(
    machine: Machine, server: ApiServer, tmp_path: Path
) -> None:
    wire = Wire(far=machine.port, near=free_port(), lengths=range(2_000, 42_000, 500))
    wire.mend()
    server.kubectl("apply", "-n", NAMESPACE, "-f", str(EXAMPLE))

    with started(replace(server, kubeconfig=machine.kubeconfig(wire.near)), NAMESPACE, tmp_path, *ELECTION) as operator:
        wait_until(lambda: has_its_pods(server), 60, "the pods")
        assert operator.process.poll() is None
    wire.cut()


@pytest.mark.parametrize(
    ("patient", "code", "asked"),
    [
        *((True, passing, 3) for passing in (0, 410, 429, 500, 503, 504)),
        *((True, final, 1) for final in (401, 403, 404)),
        *((False, code, 1) for code in (0, 503)),
        (False, 429, 3),
    ],
)
@in_virtual_time
async def test_a_leader_waits_for_an_api_server_that_is_away_or_in_trouble_and_bears_no_refusal(
    *, patient: bool, code: int, asked: int
) -> None:
    troubles = iter([ApiError(code, "", ""), ApiError(code, "", ""), None])
    client = RecordingClient(Cluster(), lambda _: next(troubles))
    with nullcontext() if asked == 3 else pytest.raises(ApiError):
        await check_installed(client, NAMESPACE, patient=patient)

    assert len(client.calls) == asked


class Restartable(Generic[T]):
    """A program that is stopped in the end, if not before."""

    def __init__(self, program: Callable[[], AbstractContextManager[T]]) -> None:
        self._program = program
        self._running = ExitStack()

    def start(self) -> T:
        return self._running.enter_context(self._program())

    def stop(self) -> None:
        self._running.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.stop()


@contextmanager
def behind_a_wire(
    machine: Machine, server: ApiServer, home: Path, *, connected: bool = True
) -> Iterator[tuple[Wire, Operator]]:
    """An operator that takes part in an election, and the wire between it and the API server."""
    wire = Wire(far=machine.port, near=free_port())
    through = replace(server, kubeconfig=machine.kubeconfig(wire.near))
    if connected:
        wire.mend()
    with running(through, NAMESPACE, home, *ELECTION) as operator:
        yield wire, operator
    wire.cut()
