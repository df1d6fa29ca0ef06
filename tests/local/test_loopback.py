"""What a run starts listens on the loopback interface alone, whatever address the program asks for."""

import json
import subprocess
import sys
from ipaddress import IPv4Address, IPv6Address, ip_address
from pathlib import Path

import pytest
import yaml

from qtj.local.container import OPEN_PORTS, confined, library, program_of
from tests.local.laptop import REPOSITORY, Laptop, toy_job
from tools.background import wait_until

LISTENER = Path(__file__).with_name("listener.py")
LISTENING = "0A"
"""The state in /proc/net/tcp: see proc_net_tcp.txt of the kernel."""


def listening(sockets: set[str]) -> list[IPv4Address | IPv6Address]:
    """The addresses at which sockets of these inodes listen."""
    tables = (Path("/proc/net", name) for name in ("tcp", "tcp6"))
    rows = [row.split() for table in tables if table.exists() for row in table.read_text().splitlines()[1:]]
    return [address(row[1].partition(":")[0]) for row in rows if row[3] == LISTENING and row[9] in sockets]


def address(text: str) -> IPv4Address | IPv6Address:
    words = [bytes.fromhex(text[at : at + 8])[::-1] for at in range(0, len(text), 8)]
    found = ip_address(b"".join(words))
    return (found.ipv4_mapped if isinstance(found, IPv6Address) else None) or found


def sockets_of(processes: list[int]) -> set[str]:
    found = set()
    for pid in processes:
        for entry in Path("/proc", str(pid), "fd").glob("*"):
            try:
                target = str(entry.readlink())
            except OSError:
                continue
            if target.startswith("socket:["):
                found.add(target[len("socket:[") : -1])
    return found


def test_two_workers_of_an_own_program_listen_on_loopback_alone(laptop: Laptop) -> None:
    laptop.write(toy_job(100_000))
    running = laptop.start("run", "job.yaml")

    def found() -> list[IPv4Address | IPv6Address]:
        return listening(sockets_of([*laptop.processes()]))

    wait_until(lambda: len(found()) >= 2)  # the progress of both

    assert {str(each) for each in found()} == {"127.0.0.1"}
    running.stop()


@pytest.mark.slow
def test_two_trainers_listen_on_loopback_alone_and_train_to_their_end(laptop: Laptop) -> None:
    job = yaml.safe_load((REPOSITORY / "examples/qcnn.yaml").read_text())
    job["spec"]["template"]["spec"]["containers"][0]["args"] = ["train", "qcnn", "--rounds=4", "--epochs=30"]
    job["spec"]["circuit"]["qubits"] = 4
    del job["spec"]["inference"]
    laptop.write(job)
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: laptop.trains("qcnn", epoch=1))

    found = listening(sockets_of([*laptop.processes()]))

    ended = running.end(seconds=300)
    assert ended.code == 0, ended.errors
    assert len(found) >= 6, "of each: TensorFlow's server, its profiler and its progress"
    assert {str(each) for each in found} == {"127.0.0.1"}


def test_every_way_to_listen_on_all_addresses_is_narrowed_and_no_other() -> None:
    environment = confined({"PATH": "/usr/bin:/bin"})
    printed = subprocess.run(
        [sys.executable, str(LISTENER)], env=environment, stdout=subprocess.PIPE, check=True
    ).stdout

    found = json.loads(printed)

    expected = {"any": "127.0.0.1", "own": "127.0.0.2", "datagrams": "0.0.0.0", "none": "127.0.0.1"}
    six = {"both": "::ffff:127.0.0.1", "mapped": "::ffff:127.0.0.1", "six": "::1"}
    assert found == {**expected, "child": "127.0.0.1"} | (six if "six" in found else {})


@pytest.mark.parametrize("already", ["/lib/mine.so", "/lib/mine.so /lib/other.so", ":/lib/mine.so:"])
def test_what_a_program_preloads_itself_comes_first(already: str) -> None:
    found = confined({"LD_PRELOAD": already})

    assert found["LD_PRELOAD"] == ":".join([*already.replace(":", " ").split(), str(library())])
    assert confined(found) == found


def test_a_program_without_the_library_is_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("qtj.local.container.library", lambda: None)
    pod = {"metadata": {}, "spec": {"containers": [{"name": "trainer", "image": "mine:1", "command": ["python"]}]}}

    program = program_of(pod, configs={}, replaced={})

    assert [*program.notes] == [OPEN_PORTS]
    assert "LD_PRELOAD" not in program.environment
