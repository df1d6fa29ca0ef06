"""Profiles of workers that train together, asked for through the ports they serve."""

from collections.abc import Sequence
from pathlib import Path

import pytest
import tensorflow as tf
from tensorflow.tsl.profiler.protobuf import xplane_pb2

from qtj_simulator.fused.build import compiler
from tests.trainer.processes import REPOSITORY, Ended, Process, Trainer
from tools.background import free_ports, listens, tf_configs

CAPTURES = 3
"""Of each worker."""

MILLISECONDS = 300
EXAMPLE = REPOSITORY / "examples" / "own_program.py"
LONG = ("--qubits", "4", "--rounds", "2", "--epochs", "1000", "--checkpoint-every", "0")
"""A quarter of a minute of training on a quiet machine: longer than the captures take."""


COMMUNICATION = """
from qtj_trainer.replicate import Replicator, all_reduce
import tensorflow as tf

def step(one):
    return tf.add_n([all_reduce(one, "sum") for _ in range(16)])

with Replicator() as replicator:
    ones = lambda _: tf.data.Dataset.from_tensors(1.0).repeat()
    for number, _ in enumerate(replicator.run(step, ones, steps=1_000_000)):
        print("step", number, flush=True)
"""

compiled = pytest.mark.skipif(compiler() is None, reason="needs a C compiler")


def ports(processes: Sequence[Process]) -> list[int]:
    return [int(process.environment["QTJ_PROFILER_PORT"]) for process in processes]


def capture(port: int, folder: Path) -> Path:
    """Takes a profile as TensorBoard does, and returns its one file."""
    tf.profiler.experimental.client.trace(f"127.0.0.1:{port}", str(folder), MILLISECONDS, num_tracing_attempts=10)
    [file] = folder.glob("plugins/profile/*/*.xplane.pb")
    return file


def names_in(profile: Path) -> set[str]:
    space = xplane_pb2.XSpace.FromString(profile.read_bytes())
    return {event.name for plane in space.planes for event in plane.event_metadata.values()}


def capture_each(processes: Sequence[Process], folder: Path) -> None:
    """Takes profiles of all processes in turn, and looks whether they hold what workers do."""
    found = [
        names_in(capture(port, folder / f"{number}-{port}")) for number in range(CAPTURES) for port in ports(processes)
    ]
    assert all(found)
    assert any("Collective" in name for name in set().union(*found))


def start_programs(trainer: Trainer, program: Path, artifacts: Path) -> list[Process]:
    settings = zip(tf_configs(worker=2).values(), free_ports(2), strict=True)
    environment = {"QTJ_ARTIFACTS_URI": str(artifacts), "QTJ_JOB_UID": "uid-1"}
    return [
        trainer.start_program(program, TF_CONFIG=config, QTJ_PROFILER_PORT=str(port), **environment)
        for config, port in settings
    ]


def ended_well(processes: Sequence[Process]) -> Ended:
    leader, follower = [process.end() for process in processes]
    assert (leader.code, follower.code) == (0, 0), leader.errors + follower.errors
    return leader


def kill(processes: Sequence[Process]) -> None:
    for process in processes:
        process.kill()


@pytest.mark.slow
@compiled
def test_profiles_of_both_workers_change_nothing_of_their_training(trainer: Trainer, tmp_path: Path) -> None:
    quiet = trainer.start_cluster(2, "train", "qcnn", *LONG, "--artifacts", str(tmp_path / "quiet"))
    expected = ended_well(quiet)

    watched = trainer.start_cluster(2, "train", "qcnn", *LONG, "--artifacts", str(tmp_path / "watched"))
    watched[0].wait_for("epoch    2/1000")
    capture_each(watched, tmp_path / "profiles")

    assert ended_well(watched).weights.sha256 == expected.weights.sha256


@pytest.mark.slow
@compiled
def test_profiles_of_both_workers_change_nothing_of_their_program(trainer: Trainer, tmp_path: Path) -> None:
    program = tmp_path / "program.py"
    seeded = "import tensorflow as tf\ntf.keras.utils.set_random_seed(0)\n#"
    text = EXAMPLE.read_text().replace("EPOCHS = 5", "EPOCHS = 100").replace("import tensorflow as tf", seeded)
    program.write_text(text)
    expected = ended_well(start_programs(trainer, program, tmp_path / "quiet"))

    watched = start_programs(trainer, program, tmp_path / "watched")
    watched[0].wait_for("Epoch 2/100")
    capture_each(watched, tmp_path / "profiles")

    assert ended_well(watched).weights.sha256 == expected.weights.sha256


@pytest.mark.slow
@compiled
def test_no_profile_kills_a_worker_whose_steps_are_all_communication(trainer: Trainer, tmp_path: Path) -> None:
    """Without the correction, one or two profiles are enough."""
    program = tmp_path / "program.py"
    program.write_text(COMMUNICATION)

    workers = start_programs(trainer, program, tmp_path)
    workers[0].wait_for("step 2")
    capture_each(workers, tmp_path / "profiles")

    assert [worker.popen.poll() for worker in workers] == [None, None]
    kill(workers)


@pytest.mark.slow
def test_a_tracer_that_is_not_corrected_is_not_served(trainer: Trainer, tmp_path: Path) -> None:
    """Here because TensorFlow was imported first."""
    program = tmp_path / "program.py"
    program.write_text("import tensorflow\n" + EXAMPLE.read_text().replace("EPOCHS = 5", "EPOCHS = 100000"))

    workers = start_programs(trainer.alone, program, tmp_path)
    workers[0].wait_for("Epoch 2/")

    for worker in workers:
        port = worker.environment["QTJ_PROFILER_PORT"]
        assert f"port {port} serves no profiles: a profile can kill a process with TensorFlow" in worker.errors()
        assert not listens(int(port))
    kill(workers)
