"""The trainer itself under `qtj run`: TensorFlow's processes, its checkpoints, its sentences."""

import os
import signal
from typing import Any

import yaml

from tests.local.laptop import QTJ, REPOSITORY, Laptop
from tools.background import wait_until


def example(*args: str, workers: int, inference: bool) -> dict[str, Any]:
    job: dict[str, Any] = yaml.safe_load((REPOSITORY / "examples/qcnn.yaml").read_text())
    container = job["spec"]["template"]["spec"]["containers"][0]
    container["args"] = ["train", "qcnn", "--rounds=4", "--seed=0", *args]
    job["spec"]["circuit"]["qubits"] = 4
    job["spec"]["replicaSpecs"]["Worker"]["replicas"] = workers
    if not inference:
        del job["spec"]["inference"]
    return job


def test_kill_9_of_a_worker_costs_a_restart_and_not_the_epochs_before(laptop: Laptop) -> None:
    laptop.write(example("--epochs=60", workers=2, inference=True))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: laptop.trains("qcnn", epoch=2))

    os.kill(laptop.worker(1), signal.SIGKILL)
    ended = running.end(seconds=500)

    assert ended.code == 0, ended.errors
    stages = ["starting", "running", "compiling", "training", "inferring"]
    reported = [line[11:].removeprefix("qcnn  ").partition("  ")[0] for line in ended.errors.splitlines()]
    assert [stage for stage in dict.fromkeys(reported) if stage in stages] == stages
    assert (ended.status["attempt"], ended.status["restarts"]) == (2, 1)
    assert ended.status["failures"][0]["exitCode"] == 137
    assert ended.status["progress"]["epoch"] == 60
    assert "resumed after epoch" in laptop.qtj("logs", "qcnn", "worker-0.2").output
    assert laptop.qtj("report", "qcnn").code == 0
    assert (laptop.artifacts("qcnn") / "report.svg").read_text().startswith("<svg ")
    assert laptop.processes() == {}


def test_a_full_disk_is_told_and_the_earlier_checkpoint_stays(laptop: Laptop) -> None:
    """The artifacts are on a file system of their own, which only the processes of this test see."""
    laptop.write(example("--epochs=100000", workers=1, inference=False))
    disk = laptop.folder / "disk"
    disk.mkdir()
    script = f"""
        mount -t tmpfs -o size=512k none {disk} || exit 77
        {QTJ[0]} -c "{QTJ[2]}" run job.yaml -o json --artifacts {disk} > {laptop.folder}/out 2> {laptop.folder}/err &
        for _ in $(seq 2400); do ls {disk}/checkpoints/*/*.npz > /dev/null 2>&1 && break; sleep 0.05; done
        dd if=/dev/zero of={disk}/filler bs=1k > /dev/null 2>&1
        wait $!
        code=$?
        cp -r {disk}/checkpoints {laptop.folder}/kept
        exit $code
    """

    ended = laptop.run_apart(script)

    output = (laptop.folder / "err").read_text()
    assert ended.returncode == 1, output
    assert f"there is no room for artifacts in {disk} (No space left on device)" in output
    assert "Traceback" not in output
    assert all(path.stat().st_size for path in (laptop.folder / "kept").rglob("*.npz"))
    assert list((laptop.folder / "kept").rglob("*.npz"))


def test_what_stands_for_the_trainers_image_is_its_entrypoint() -> None:
    words = (REPOSITORY / "Dockerfile.trainer").read_text().rpartition("ENTRYPOINT ")[2].strip()

    assert words == '["python", "-m", "qtj_trainer"]'
