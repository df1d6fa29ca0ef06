"""Sentences of docs/reference/cli.md that no other test checks: one test for each."""

import json
import os
import signal
from pathlib import Path

import pytest

from tests.local.laptop import REPOSITORY, Laptop, toy_job
from tools.background import wait_until

ENDLESS = 100_000


def test_no_limit_of_memory_is_enforced_and_a_security_context_has_no_effect(laptop: Laptop) -> None:
    job = toy_job(epochs=1)
    main = job["spec"]["template"]["spec"]["containers"][0]
    main |= {"resources": {"limits": {"memory": "1Mi"}}, "securityContext": {"runAsUser": os.getuid() + 4711}}
    main["command"] = ["sh", "-c", 'id -u > "user-$(hostname)"; exec python "$0" "$@"', main["command"][1]]
    laptop.write(job)

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert {path.read_text() for path in laptop.folder.glob("user-*")} == {f"{os.getuid()}\n"}


def test_the_folder_of_a_run_holds_what_the_docs_list(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=2))

    assert laptop.qtj("run", "job.yaml").code == 0

    folder = laptop.artifacts()
    names = {path.name for path in folder.iterdir()} - {".qtj-run", "checkpoints", "activity.jsonl"}
    assert names == {
        "job.json", "events.jsonl", "pods.jsonl", "progress.jsonl", "logs", "report.html", "source", "weights.h5",
        "weights.predictions.json",
    }  # fmt: skip
    assert json.loads((folder / "job.json").read_text())["kind"] == "QuantumTrainingJob"
    assert [json.loads(line)["epoch"] for line in (folder / "progress.jsonl").read_text().splitlines()][-1] == 2
    logs = sorted(path.name.partition(".")[0] for path in (folder / "logs").iterdir())
    assert logs[-1] == "toy-worker-0", "a follower wrote nothing, so it has none"
    assert logs[0].startswith("toy-inference-")
    assert len(logs) == 2


def test_a_run_that_is_not_named_is_the_one_that_wrote_last(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1, name="zebra"), name="first.yaml")
    laptop.write(toy_job(epochs=1, name="ant"), name="second.yaml")
    for file in ("first.yaml", "second.yaml"):
        assert laptop.qtj("run", file).code == 0
    os.utime(laptop.artifacts("zebra") / "job.json", (1, 1))

    assert laptop.qtj("status", "-o", "name").output == "ant/1\n"


def test_a_third_interrupt_ends_the_run_at_once_and_nothing_is_left(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS, "--deaf"))
    running = laptop.start("run", "job.yaml")
    wait_until(laptop.trains)
    supervisor = int(Path(f"/proc/{laptop.worker(0)}/stat").read_text().rpartition(")")[2].split()[1])
    os.kill(supervisor, signal.SIGSTOP)  # nobody can kill its program while it stands still

    running.interrupt()
    wait_until(lambda: laptop.record()["spec"].get("suspend"))
    for ask in (b"kill", None):
        running.interrupt()
        if ask:
            wait_until(lambda: (laptop.artifacts() / ".stop").read_bytes() == b"kill")
    ended = running.end(seconds=20)
    os.kill(supervisor, signal.SIGCONT)

    assert ended.code == 130
    wait_until(lambda: not laptop.processes(), seconds=20)


@pytest.mark.parametrize("flags", [(), ("--resume",)])
def test_a_run_that_is_under_way_is_refused(laptop: Laptop, flags: tuple[str, ...]) -> None:
    laptop.write(toy_job(ENDLESS, workers=1))
    running = laptop.start("run", "job.yaml")
    wait_until(laptop.trains)

    refused = laptop.qtj("run", "job.yaml", *flags, "--dry-run")
    beside = laptop.qtj("run", "job.yaml", "--fresh", "--dry-run")
    running.interrupt()
    running.end()

    assert (refused.code, beside.code) == (2, 0)
    assert "toy/1 is active in " in refused.errors
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/2'}" in beside.output


def test_a_failed_job_starts_over_unless_it_is_resumed(laptop: Laptop) -> None:
    laptop.write(toy_job(3, "--break-after", "1", workers=1))
    assert laptop.qtj("run", "job.yaml").code == 1

    fresh, resumed = (laptop.qtj("run", "job.yaml", "--dry-run", *flags) for flags in ((), ("--resume",)))

    assert "toy  starts over; toy/1 failed, and --resume would continue it" in fresh.output
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/2'}" in fresh.output
    assert f"record     {laptop.folder / 'qtj-artifacts/toy/1'}" in resumed.output


def test_prune_keeps_as_many_runs_as_it_is_told_and_those_under_way(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=1, workers=1, inference=None))
    for _ in range(3):
        assert laptop.qtj("run", "job.yaml").code == 0
    laptop.write(toy_job(ENDLESS, workers=1, inference=None))
    running = laptop.start("run", "job.yaml")
    wait_until((laptop.artifacts(run=4) / "job.json").exists)

    pruned = laptop.qtj("prune", "--keep", "2", "--yes")
    listed = laptop.qtj("list", "-o", "name").output.split()
    running.interrupt()
    running.end()

    assert pruned.code == 0, pruned.errors
    assert listed == ["toy/2", "toy/3", "toy/4"]


def test_a_dry_run_names_the_memory_that_a_job_needs_and_a_file_of_examples_that_is_not_there(laptop: Laptop) -> None:
    example = (REPOSITORY / "examples/qcnn.yaml").read_text()
    (laptop.folder / "large.yaml").write_text(example.replace("qubits: 8", "qubits: 28"))
    data = "spec.template.spec.containers[0].args=[train, qcnn, --data=lost.npz, --data-sha256=0]"
    limit = "spec.template.spec.containers[0].resources.limits.memory=900Gi"

    large = laptop.qtj("run", "large.yaml", "--dry-run", "--set", limit)
    lost = laptop.qtj("run", str(REPOSITORY / "examples/qcnn.yaml"), "--dry-run", "--set", data)

    assert "  memory     at least " in large.output, large.errors
    assert lost.code == 2
    assert "--data lost.npz does not exist on this machine: name a file that does" in lost.errors
