"""Ports of this machine: no two runs get the same one, whoever runs them."""

import os
import socket
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from qtj.local import addresses
from qtj.local.addresses import HOST, NoFreePortError, PortLease

ANOTHER = """
import sys
from qtj.local import addresses

addresses.PORTS = [int(port) for port in sys.argv[1:]]
try:
    print(addresses.PortLease().take())
except addresses.NoFreePortError as problem:
    print(problem)
"""


@pytest.fixture
def lease() -> Iterator[PortLease]:
    lease = PortLease()
    yield lease
    lease.close()


@pytest.mark.parametrize("temporary", ["same", "other"])
def test_another_run_never_gets_a_port_that_is_taken(lease: PortLease, tmp_path: Path, temporary: str) -> None:
    taken = [lease.take() for _ in range(50)]
    environment = {**os.environ, **({"TMPDIR": str(tmp_path)} if temporary == "other" else {})}

    done = subprocess.run(
        [sys.executable, "-c", ANOTHER, *map(str, taken)], capture_output=True, text=True, check=True, env=environment
    )

    assert done.stdout.startswith("no port between ")
    assert done.stdout.endswith("can be used on this machine (Address already in use): end what uses them\n")


def test_the_end_of_one_lease_leaves_the_ports_of_another_taken(
    lease: PortLease, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(addresses, "PORTS", [lease.take()])
    PortLease().close()

    with pytest.raises(NoFreePortError):
        PortLease().take()


def test_a_port_can_be_taken_again_after_its_lease(monkeypatch: pytest.MonkeyPatch) -> None:
    first, second = PortLease(), PortLease()
    monkeypatch.setattr(addresses, "PORTS", [first.take()])
    first.close()

    assert second.take() in addresses.PORTS

    second.close()


def test_a_port_on_which_a_program_listens_is_not_taken(lease: PortLease, monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.create_server((HOST, 0)) as server:
        monkeypatch.setattr(addresses, "PORTS", [server.getsockname()[1]])

        with pytest.raises(NoFreePortError):
            lease.take()


def test_a_program_can_listen_on_the_port_that_is_taken_for_it(lease: PortLease) -> None:
    with socket.create_server(("", lease.take())) as server:
        assert server.getsockname()[1]
