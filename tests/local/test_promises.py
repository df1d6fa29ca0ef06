"""Sentences of docs/reference/cli.md that no other test checks: one test for each."""

import json
import os
import signal
from pathlib import Path

from tests.local.laptop import ENDLESS, REPOSITORY, Laptop, toy_job
from tools.background import wait_until


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


def test_a_third_interrupt_ends_the_run_at_once_and_nothing_is_left(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS, "--deaf"))
    running = laptop.training()
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
