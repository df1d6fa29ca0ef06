"""`qtj status`, `top`, `logs` and `events` of runs on this machine."""

import json
import os
import subprocess

from tests.local.laptop import ENDLESS, QTJ, Laptop, toy_job
from tools.background import wait_until


def table(output: str, heading: str) -> list[list[str]]:
    """The rows of the table that begins with a heading."""
    lines = output.splitlines()
    first = next(number for number, line in enumerate(lines) if line.startswith(heading)) + 1
    last = next((number for number, line in enumerate(lines) if number > first and not line), len(lines))
    return [line.split() for line in lines[first:last]]


def test_the_replicas_of_a_run_are_shown_while_it_is_active_and_afterwards(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.training()

    active = table(laptop.qtj("status").output, "REPLICA")
    running.stop()
    stopped = table(laptop.qtj("status").output, "REPLICA")

    node = os.uname().nodename
    assert active == [[f"worker-{index}", "Running", node, "-", "0", "-"] for index in range(2)]
    assert [row[0] for row in stopped] == ["worker-0", "worker-1"]
    assert "Running" not in {row[1] for row in stopped}


def test_exit_codes_and_restarts_are_those_of_the_programs(laptop: Laptop) -> None:
    laptop.write(toy_job(3, "--exit", "75", workers=1, runPolicy={"backoffLimit": 1}))
    laptop.qtj("run", "job.yaml")

    ended = laptop.qtj("status")

    assert [row[:2] + row[3:] for row in table(ended.output, "REPLICA")] == [["worker-0", "Failed", "75", "1", "-"]]
    assert "\nattempt     2\nrestarts    1\n" in ended.output


def test_a_run_that_was_killed_shows_no_replica_that_runs(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.training()
    running.kill()
    running.end()

    assert "worker-" not in laptop.qtj("status").output


def test_a_run_is_followed_to_its_end_as_lines_with_its_exit_code(laptop: Laptop) -> None:
    laptop.write(toy_job(30), name="good.yaml")
    laptop.write(toy_job(30, "--break-after", "20", name="bad", workers=1), name="bad.yaml")
    good, bad = laptop.start("run", "good.yaml"), laptop.start("run", "bad.yaml")
    wait_until(lambda: laptop.trains() and laptop.trains("bad"))

    followed, failed = laptop.qtj("status", "toy", "-w"), laptop.qtj("status", "bad", "-w")
    good.end(), bad.end()

    assert (followed.code, followed.errors) == (0, "")
    assert "toy is Complete" in followed.output
    assert failed.code == 1
    assert "bad is Failed" in failed.output


def test_each_change_of_a_run_is_a_document_for_programs(laptop: Laptop) -> None:
    laptop.write(toy_job(1))
    laptop.qtj("run", "job.yaml")

    documents = laptop.qtj("status", "-w", "-o", "yaml").output.split("---\n")

    assert documents[0] == ""
    assert "\n  phase: Complete\n" in documents[1]


def test_top_shows_the_last_run_of_each_job_and_the_replicas_of_active_ones(laptop: Laptop) -> None:
    laptop.write(toy_job(1, name="done", workers=1), name="done.yaml")
    for _ in range(2):
        laptop.qtj("run", "done.yaml")
    laptop.write(toy_job(ENDLESS))
    running = laptop.training()

    shown = laptop.qtj("top").output
    listed = json.loads(laptop.qtj("top", "toy", "-o", "json").output)["items"]
    running.stop()

    assert [row[:4] for row in table(shown, "JOB")] == [
        ["toy/1", "Running", "-", "2/2"], ["done/2", "Complete", "-", "0/1"],
    ]  # fmt: skip
    assert [row[:3] for row in table(shown.partition("\n\n")[2], "JOB")] == [
        ["toy/1", "worker-0", "Running"], ["toy/1", "worker-1", "Running"],
    ]  # fmt: skip
    assert [(each["name"], each["replicas"][0]["state"]) for each in listed] == [("toy/1", "Running")]


def test_a_folder_without_runs_is_a_sentence(laptop: Laptop) -> None:
    ended = laptop.qtj("top")

    assert (ended.code, ended.output) == (0, "there is no run in this folder yet: qtj run FILE starts one\n")


def test_a_run_that_is_not_here_may_be_on_the_cluster(laptop: Laptop) -> None:
    hint = ", and --cluster shows a job of your cluster\n"

    for command in ("status", "logs", "events", "top"):
        ended = laptop.qtj(command, "qcnn")
        assert (ended.code, ended.errors.endswith(hint)) == (2, True), ended.errors


def test_events_are_rows_and_followed_to_the_end_of_the_run(laptop: Laptop) -> None:
    laptop.write(toy_job(30))
    running = laptop.training()

    following = laptop.start("events", "-w", "-o", "yaml")
    followed = laptop.qtj("events", "-w")
    running.end()
    documents = following.end().output.split("---\n")[1:]
    (first, *_) = json.loads(laptop.qtj("events", "-o", "json").output)["items"]

    reasons = [line.split()[2] for line in followed.output.splitlines()]
    assert (reasons[0], reasons[1], reasons[-1]) == ("TYPE", "AllReplicasReady", "InferenceDone")
    assert (first["kind"], first["reason"]) == ("Event", "AllReplicasReady")
    assert [document.count("\nkind: Event\n") for document in documents] == [1] * (len(reasons) - 1)


def test_lines_of_logs_are_documents_for_programs(laptop: Laptop) -> None:
    laptop.write(toy_job(2))
    laptop.qtj("run", "job.yaml")

    lines = [json.loads(line) for line in laptop.qtj("logs", "-o", "json").output.splitlines()]

    assert lines[0] == {"pod": "toy-worker-0", "attempt": 1, "line": "begins after epoch 0"}
    assert lines[-1]["line"] == "2 held-out examples"
    assert set(lines[-1]) == {"pod", "line"}


def test_a_reader_that_leaves_ends_what_is_followed(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))
    running = laptop.training()

    for command in (("status", "-w"), ("logs", "-f"), ("status", "-w", "-o", "json"), ("events", "-w", "-o", "json")):
        reader, writer = os.pipe()
        os.close(reader)
        ended = subprocess.run(
            [*QTJ, *command], cwd=laptop.folder, env=laptop.environment(), stdout=writer, stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL, check=False, timeout=60,
        )  # fmt: skip
        os.close(writer)
        assert (ended.returncode, ended.stderr) == (0, b"")
    running.stop()


def test_a_command_about_both_a_folder_and_a_cluster_is_refused(laptop: Laptop) -> None:
    ended = laptop.qtj("status", "qcnn", "--artifacts", "here", "-n", "research")

    assert ended.code == 2
    assert ended.errors.startswith("qtj: --artifacts is a folder of this machine, and the job is on a cluster")


def test_without_a_cluster_there_is_a_sentence(laptop: Laptop) -> None:
    for command in (("status", "qcnn"), ("top",), ("logs", "qcnn"), ("events", "qcnn")):
        ended = laptop.qtj(*command, "--cluster", KUBECONFIG="nowhere")
        sentence = "qtj: no cluster can be reached: there is no file nowhere; set KUBECONFIG to your kubeconfig\n"
        assert (ended.code, ended.errors) == (2, sentence)
