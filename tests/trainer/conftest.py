"""Fixtures of the trainer's tests: a real object store, and the trainer as processes."""

import gc
import os
import shutil
import subprocess
import urllib.request
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest
from google.cloud import storage

from qtj_simulator.fused.library import library
from qtj_trainer.storage import Store, open_store
from tests.forked import Server
from tests.missing import skip_or_fail
from tests.trainer.in_process import Desk
from tests.trainer.loops import Folder
from tests.trainer.processes import Trainer, base_environment
from tools.background import free_ports, wait_until

EMULATOR = "fake-gcs-server"


def find_emulator() -> str | None:
    """Looks where the test setup puts the object store emulator."""
    cache = Path(os.environ.get("QTJ_CACHE", Path.home() / ".cache" / "quantumtraining"))
    built = [str(path) for path in cache.glob(f"tools/*/bin/{EMULATOR}")]
    candidates = [os.environ.get("QTJ_GCS_EMULATOR"), shutil.which(EMULATOR), *built]
    return next((path for path in candidates if path and Path(path).is_file()), None)


@pytest.fixture
def store(tmp_path: Path) -> Store:
    """An empty store on the disk."""
    return open_store(str(tmp_path))


@pytest.fixture(scope="session")
def emulator() -> Iterator[str]:
    """Runs an object store that speaks Google Cloud Storage's HTTP API, and returns its address."""
    binary = find_emulator()
    if binary is None:
        skip_or_fail(f"{EMULATOR} is not here: build it from tools/cluster/tools/addons or set QTJ_GCS_EMULATOR to it")
    (port,) = free_ports(1)
    host = f"127.0.0.1:{port}"
    command = [binary, "-scheme", "http", "-backend", "memory", "-host", "127.0.0.1", "-port", str(port)]
    server = subprocess.Popen([*command, "-public-host", host], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        wait_until(lambda: _answers(f"http://{host}/storage/v1/b"))
        yield f"http://{host}"
    finally:
        server.kill()
        server.wait()


@pytest.fixture(scope="session")
def bucket(emulator: str) -> Iterator[storage.Bucket]:
    """A bucket of the emulator."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("STORAGE_EMULATOR_HOST", emulator)
        client = storage.Client(project="test")
        yield client.create_bucket("qtj-test")
        client.close()


@pytest.fixture(scope="session")
def trainer(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """Starts trainer processes, forked from one that has loaded TensorFlow."""
    with ExitStack() as cleanup:
        server = Server(base_environment())
        cleanup.callback(server.close)
        yield Trainer(tmp_path_factory.mktemp("trainer"), cleanup, server)


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Trainer]:
    """Starts programs with a custom loop, which do without TensorFlow, forked from one that has imported `Program`."""
    with ExitStack() as cleanup:
        server = Server(base_environment(), "program")
        cleanup.callback(server.close)
        yield Trainer(tmp_path_factory.mktemp("programs"), cleanup, server)


@pytest.fixture
def job(programs: Trainer, tmp_path: Path) -> Folder:
    """The folder of a job, for programs with a custom loop."""
    return Folder(programs, tmp_path / "job")


@pytest.fixture
def other(programs: Trainer, tmp_path: Path) -> Folder:
    """The folder of another job."""
    return Folder(programs, tmp_path / "other")


@pytest.fixture
def free() -> Iterator[Callable[[int], None]]:
    """Says how many bytes are free, but for those that are lent."""
    gc.collect()  # engines of other tests
    yield library().qtj_assume_free
    library().qtj_assume_free(-1)


def _answers(url: str) -> bool:
    with suppress(OSError), urllib.request.urlopen(url, timeout=1):
        return True
    return False


@pytest.fixture
def desk(tmp_path: Path) -> Iterator[Desk]:
    """A job whose training runs in this process."""
    with ExitStack() as cleanup:
        yield Desk(tmp_path / "artifacts", cleanup)
