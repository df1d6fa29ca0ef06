"""Training on a parameter server: real servers over loopback, and what happens when one of them dies."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

import qtj_contract as contract
from tests.trainer.outputs import epochs_in
from tests.trainer.processes import Process, Trainer
from tools.background import listens, tf_configs, wait_until

Role = tuple[str, int]

CHIEF, PS = ("chief", 0), ("ps", 0)
NOISE_VARIANCE = 0.01
LONG = ("train", "linear-regression", "--batch-size", "8", "--epochs", "20")


class Servers:
    """A chief, a parameter server and two workers."""

    def __init__(self, trainer: Trainer, artifacts: Path, *arguments: str) -> None:
        self._trainer = trainer
        self._arguments = (*arguments, "--artifacts", str(artifacts))
        self._configs = tf_configs(chief=1, ps=1, worker=2)
        self.processes: dict[Role, Process] = {}
        for role in self._configs:
            self.start(role)

    def start(self, role: Role) -> None:
        """Starts a process, or starts it again in its old place."""
        self.processes[role] = self._trainer.start(*self._arguments, TF_CONFIG=self._configs[role], QTJ_JOB_UID="uid-1")

    def wait_for(self, role: Role) -> None:
        """Waits until a process listens."""
        config = json.loads(self._configs[role])
        wait_until(lambda: listens(int(config["cluster"][role[0]][role[1]].rpartition(":")[2])))

    def kill(self) -> None:
        for process in self.processes.values():
            process.kill()


Start = Callable[..., Servers]


@pytest.fixture
def start(trainer: Trainer, tmp_path: Path) -> Iterator[Start]:
    """Starts clusters that share their artifacts, and ends them with the test."""
    with ExitStack() as cleanup:

        def started(*arguments: str) -> Servers:
            servers = Servers(trainer, tmp_path, *arguments)
            cleanup.callback(servers.kill)
            return servers

        yield started


def test_a_worker_that_is_killed_costs_nothing_but_time(start: Start) -> None:
    servers = start(*LONG)
    chief = servers.processes[CHIEF]
    chief.wait_for("epoch  3/")
    servers.processes["worker", 1].kill()
    servers.start(("worker", 1))

    ended = chief.end()

    assert ended.code == 0, ended.errors
    assert epochs_in(ended.output) == list(range(1, 21))
    assert ended.metrics["mse"] == pytest.approx(NOISE_VARIANCE, abs=0.01)
    assert ended.message
    assert ended.message.progress
    assert ended.message.progress.devices == 2, "one of each worker; the chief hands out steps"
    assert [servers.processes[role].end().code for role in (PS, ("worker", 0), ("worker", 1))] == [0, 0, 0]


@pytest.mark.slow
def test_workers_that_are_killed_repeatedly_restart_no_other_process(start: Start) -> None:
    servers = start("train", "linear-regression", "--epochs", "400")
    chief = servers.processes[CHIEF]
    chief.wait_for("epoch   1/")
    for kill in range(4):  # the moment decides: between a step and its report it once ended the chief
        worker = ("worker", kill % 2)
        done = len(epochs_in(chief.output()))
        servers.processes[worker].kill()
        time.sleep(1)  # nobody listens there for a while
        servers.start(worker)
        servers.wait_for(worker)
        chief.wait_for(f"epoch {done + 5:3}/")


@pytest.mark.slow
def test_without_its_parameter_server_a_chief_asks_for_another_run_and_resumes(start: Start) -> None:
    servers = start(*LONG)
    servers.processes[CHIEF].wait_for("epoch  4/")  # logged before its checkpoint is stored, after that of the third
    servers.processes[PS].kill()
    lost = servers.processes[CHIEF].end()
    servers.kill()

    ended = start(*LONG).processes[CHIEF].end()

    assert (lost.code, len(lost.sentences)) == (contract.EXIT_RETRY, 1)
    assert "lost a parameter server" in lost.sentences[0]
    first = epochs_in(ended.output)[0]
    assert 3 < first <= 20
    assert f"resumed after epoch {first - 1} from" in ended.output
    assert ended.metrics["mse"] == pytest.approx(NOISE_VARIANCE, abs=0.01)


def test_circuits_train_there_too(start: Start) -> None:
    servers = start("train", "qcnn", "--qubits", "4", "--rounds", "4", "--epochs", "2")

    ended = servers.processes[CHIEF].end()

    assert ended.code == 0, ended.errors
    assert epochs_in(ended.output) == [1, 2]
    assert ended.weights.sha256
