"""A trainer that is forked from a process that has loaded TensorFlow is as one that starts alone."""

import asyncio
import json
import os
import signal
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from qtj.local import fork_server
from qtj.local.container import TRAINER, ProcessSpec, base_environment, confined
from qtj.local.fork_server import ForkServer, fork_server_for
from qtj.local.forkable import imports_of
from qtj.local.process import Process, Supervisors
from qtj_contract import Env
from qtj_operator.manifests.pod import replica_pod
from tests.jobs import a_job
from tests.local.laptop import toy_job
from tools.background import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="TensorFlow Quantum is for Linux")

FACTS = (sys.executable, "-m", "tests.local.facts")
"""Takes the place of the trainer: the server forks any module of this name."""
SCRIPT = (sys.executable, "tests/local/facts.py")
"""The same as a user's script, which its text would give a start of its own."""
IMPORTS = "import qtj_trainer\nimport tensorflow as tf\nimport no_such_package"
REPOSITORY = Path(__file__).parents[2]

STARTS = """
import sys, time
from qtj.local.fork_server import ForkServer
print(ForkServer(dict(PATH="/bin")).pid, flush=True)
time.sleep(600)
"""


@pytest.fixture(scope="module")
def server() -> Iterator[ForkServer]:
    """A server that forks `facts`."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "TRAINER", FACTS)
        patch.chdir(REPOSITORY)
        server = ForkServer(environment())
        yield server
        server.close()


@pytest.fixture(scope="module")
def script_server() -> Iterator[ForkServer]:
    """A server that forks `facts` as a script."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(
            fork_server, "imports_of", lambda *asked: IMPORTS if asked[0][1] == SCRIPT[1] else imports_of(*asked)
        )
        patch.chdir(REPOSITORY)
        server = ForkServer(environment(), imports=IMPORTS)
        yield server
        server.close()


def environment() -> dict[str, str]:
    """The environment of any trainer, without the variable that pytest changes from test to test."""
    return {name: value for name, value in base_environment({}).items() if name != "PYTEST_CURRENT_TEST"}


def facts(*arguments: str, **variables: str) -> ProcessSpec:
    return ProcessSpec(command=(*FACTS, *arguments), environment={**environment(), **variables}, folder=REPOSITORY)


def script(*arguments: str, **variables: str) -> ProcessSpec:
    return replace(facts(**variables), command=(*SCRIPT, *arguments))


@asynccontextmanager
async def started(program: ProcessSpec, server: ForkServer | None) -> AsyncIterator[Process]:
    supervisors = Supervisors(server)
    await supervisors.prepare(program)
    process = await Process.start(program, lambda _: None, supervisors)
    try:
        yield process
    finally:
        process.kill()
        await process.wait()


async def ended(program: ProcessSpec, server: ForkServer | None) -> tuple[int, str]:
    """Returns the exit code of a program and its output."""
    output = bytearray()
    supervisors = Supervisors(server)
    await supervisors.prepare(program)
    process = await Process.start(program, output.extend, supervisors)
    return await process.wait(), output.decode()


def differences(one: dict[str, Any], other: dict[str, Any]) -> dict[str, tuple[Any, Any]]:
    return {
        name: (one.get(name), other.get(name)) for name in one.keys() | other.keys() if one.get(name) != other.get(name)
    }


def is_there(pid: int) -> bool:
    """Whether a process has not ended."""
    try:
        return bool(Path(f"/proc/{pid}/cmdline").read_bytes())  # empty once it has ended and nobody has waited for it
    except FileNotFoundError:
        return False


def is_forked(process: Process) -> bool:
    (parent,) = (line for line in Path(f"/proc/{process.pid}/status").read_text().splitlines() if "PPid" in line)
    return b"qtj_trainer.fork_server" in Path(f"/proc/{parent.split()[1]}/cmdline").read_bytes()


async def test_it_sees_and_computes_what_one_that_starts_alone_does(server: ForkServer) -> None:
    await assert_same(facts("a word", "", "ä", TF_CONFIG="{}", QTJ_JOB="test"), server)


async def test_a_script_sees_and_computes_what_one_that_starts_alone_does(script_server: ForkServer) -> None:
    await assert_same(script("a word", "", "ä", TF_CONFIG="{}", QTJ_JOB="test"), script_server)


async def assert_same(program: ProcessSpec, server: ForkServer) -> None:
    codes, outputs = zip(*[await ended(program, each) for each in (None, server, server)], strict=True)

    assert codes == (0, 0, 0), outputs
    alone, forked, again = (json.loads(output.splitlines()[-1]) for output in outputs)  # TensorFlow may warn before
    assert [each["forked"] for each in (alone, forked, again)] == [False, True, True]
    marks = [each["same"]["variables"].pop("QTJ_RUN") for each in (alone, forked, again)]
    assert marks[1:] == [server.mark["QTJ_RUN"]] * 2
    for each in (forked, again):
        assert differences(each["same"]["variables"], alone["same"]["variables"]) == {}
        assert differences(each["same"], alone["same"]) == {}
    assert forked["same"]["variables"]["TF_CONFIG"] == "{}"
    assert not set(forked["chance"]) & set(again["chance"])


async def test_an_error_of_a_script_is_shown_as_of_one_that_starts_alone(script_server: ForkServer) -> None:
    assert script_server.suits(script("fail"))
    alone, forked = [await ended(script("fail"), each) for each in (None, script_server)]

    assert "two errors" in forked[1]
    assert "the end" in forked[1]
    assert forked == alone
    assert await ended(script("exit", "7"), script_server) == (7, "")


def test_another_script_or_another_python_gives_it_a_start_of_its_own(script_server: ForkServer) -> None:
    program = script()
    commands = [("/bin/python", *program.command[1:]), (program.command[0], "another.py"), TRAINER, FACTS]

    assert script_server.suits(program)
    assert not [each for each in commands if script_server.suits(replace(program, command=each))]


async def test_its_exit_code_is_its_own(server: ForkServer) -> None:
    assert server.suits(facts("exit", "7"))
    assert await ended(facts("exit", "7"), server) == (7, "")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV])
async def test_a_signal_ends_it_and_is_reported(server: ForkServer, number: signal.Signals) -> None:
    async with started(facts("wait"), server) as process:
        await asyncio.to_thread(wait_until, lambda: process.tail == "waiting\n")
        assert is_forked(process)

        if number == signal.SIGTERM:
            process.terminate()
        else:
            os.kill(process.pid, number)

        assert await process.wait() == 128 + number


async def test_nothing_that_it_has_started_is_left(server: ForkServer) -> None:
    assert server.suits(facts("leave"))

    code, output = await ended(facts("leave"), server)

    assert code == 0
    assert not is_there(int(output))


async def test_it_ends_with_its_supervisor(server: ForkServer) -> None:
    supervisors = Supervisors(server)
    await supervisors.prepare(facts("wait"))
    process = await Process.start(facts("wait"), lambda _: None, supervisors)
    assert is_forked(process)

    process.kill()

    assert await process.wait() == 128 + signal.SIGKILL
    assert not is_there(process.pid)


@pytest.mark.parametrize("name", ["LD_PRELOAD", "OMP_NUM_THREADS", "TF_DETERMINISTIC_OPS", "PYTHONHASHSEED", "MINE"])
async def test_a_variable_that_is_not_of_the_contract_gives_it_a_start_of_its_own(
    server: ForkServer, name: str
) -> None:
    assert server.suits(facts(**{str(Env.JOB): "test"}))
    assert not server.suits(facts(**{name: "1"}))

    async with started(facts("wait", **{name: "0"}), server) as process:
        assert not is_forked(process)


def test_what_the_operator_sets_in_any_replica_keeps_the_fork(server: ForkServer) -> None:
    job = a_job(chief=True, ps=1, strategy="ParameterServer")
    names = {
        variable["name"]
        for replica in job.replicas()
        for container in replica_pod(job, replica, attempt=2)["spec"]["containers"]
        for variable in container["env"]
    }

    assert {"TF_CONFIG", "QTJ_ATTEMPT", "RANK"} <= names
    assert server.suits(facts(**dict.fromkeys(names, "1")))


def test_another_folder_program_or_longer_command_gives_it_a_start_of_its_own(server: ForkServer) -> None:
    program = facts()
    another = ProcessSpec(command=program.command, environment=program.environment, folder=Path("/"))
    other = ProcessSpec(command=("/bin/true",), environment=program.environment, folder=program.folder)

    assert server.suits(facts("x" * 8000, TF_CONFIG="x" * 8000))
    refused = (another, other, facts("x" * 9000), facts(TF_CONFIG="x" * 9000))
    assert [server.suits(each) for each in refused] == [False] * 4


async def test_without_its_server_it_starts_alone() -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(fork_server, "TRAINER", FACTS)
        patch.chdir(REPOSITORY)
        server = ForkServer(environment())
    os.kill(server.pid, signal.SIGKILL)

    assert await ended(facts("exit", "5"), server) == (5, "")
    server.close()


async def test_a_server_that_ends_later_leaves_what_it_has_forked(server: ForkServer) -> None:
    """Last: the others need the server."""
    async with started(facts("wait"), server) as process:
        await asyncio.to_thread(wait_until, lambda: process.tail == "waiting\n")

        os.kill(server.pid, signal.SIGKILL)
        await asyncio.to_thread(wait_until, lambda: not is_there(server.pid))

        assert await ended(facts("exit", "5"), server) == (5, "")
        process.terminate()
        assert await process.wait() == 128 + signal.SIGTERM


def test_it_ends_with_the_process_that_has_started_it() -> None:
    starter = subprocess.Popen([sys.executable, "-c", STARTS], stdout=subprocess.PIPE, text=True)
    assert starter.stdout
    server = int(starter.stdout.readline())
    wait_until(lambda: b"---" not in Path(f"/proc/{server}/cmdline").read_bytes())  # Python runs

    starter.kill()
    starter.communicate()

    wait_until(lambda: not is_there(server))


def test_only_a_job_of_the_trainer_has_a_server() -> None:
    assert fork_server_for([toy_job(), {}, {"spec": {"template": None}}], scripts=True) is None
    assert TRAINER[1:] == ("-m", "qtj_trainer")


def write(path: Path, text: str) -> None:
    path.write_text(text)


async def test_a_script_that_runs_often_has_a_server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    write(tmp_path / "train.py", "from qtj_trainer import Program\nimport model\nprint(Program.__name__, model.WORD)\n")
    write(tmp_path / "model.py", "WORD = 'first'\n")
    job = toy_job()
    job["spec"]["template"]["spec"]["containers"][0] |= {"command": ["python"], "args": ["train.py", "--epochs=1"]}
    job["spec"]["template"]["spec"]["containers"][0]["env"] = [
        {"name": str(Env.PARAMETERS), "value": "{}"}
    ]  # of a trial
    server = fork_server_for([job], scripts=True)
    assert server
    program = ProcessSpec(
        command=(sys.executable, "train.py"), environment=confined(base_environment({})), folder=tmp_path
    )

    async with started(program, server) as process:
        assert is_forked(process)
        assert await process.wait() == 0
    write(tmp_path / "model.py", "WORD = 'second'\n")

    assert process.tail == "Program first\n"
    assert await ended(program, server) == (0, "Program second\n")
    write(tmp_path / "model.py", "import numpy\nWORD = 'third'\n")  # the server has not imported this for it
    assert not server.suits(program)
    server.close()
    assert fork_server_for([job]) is None
    job["spec"]["template"]["spec"]["containers"][0]["env"] = [{"name": "A", "value": "1"}]
    assert fork_server_for([job], scripts=True) is None
