"""`qtj run` as its user has it: a process, what it prints, and what it leaves behind."""

import os
import shlex
import signal

from tests.local.laptop import ENDLESS, QTJ, Laptop, toy_job
from tools.background import wait_until


def test_a_job_trains_on_two_workers_and_inference_measures_its_weights(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=3))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["phase"] == "Complete"
    assert ended.status["replicas"]["Worker"] == {
        "desired": 2,
        "ready": 0,
        "succeeded": 2,
        "failed": 0,
        "succeededIndexes": "0-1",
    }
    assert ended.status["inference"]["metrics"] == {"mse": 0.5}
    assert ended.status["weights"]["uri"] == (laptop.artifacts() / "weights.h5").as_uri()
    assert ended.job["spec"] == toy_job(epochs=3)["spec"]
    assert laptop.processes() == {}


def test_two_workers_find_each_other_behind_one_service(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=2, replicaService="Shared"))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["replicas"]["Worker"]["succeededIndexes"] == "0-1"
    assert ended.status["progress"]["epoch"] == 2, "the progress is read at the leader's own port"


def test_without_a_terminal_the_view_is_plain_lines(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=10))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, ended.errors
    assert "\x1b" not in ended.output
    assert "toy  AllReplicasReady: 2 of 2 replicas are ready" in ended.output
    assert "epoch 10/10  loss 0.1000" in ended.output
    *_, end, times, places, report = ended.output.splitlines()
    assert end[11:] == "toy is Complete: inference is done: mse 0.5"
    assert times[11:].startswith("toy  took: starting ")
    assert places == f"results and logs: {laptop.artifacts()}"
    assert report == f"report: {laptop.artifacts() / 'report.html'}"


def test_a_killed_worker_restarts_the_gang_which_goes_on_from_its_checkpoint(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=30))
    running = laptop.start("run", "job.yaml", "-o", "json")
    wait_until(lambda: laptop.trains(epoch=2))

    os.kill(laptop.worker(1), signal.SIGKILL)
    ended = running.end()

    assert ended.code == 0, ended.errors
    assert (ended.status["attempt"], ended.status["restarts"]) == (2, 1)
    assert ended.status["failures"][0]["exitCode"] == 137
    second = (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text()
    assert not second.startswith("begins after epoch 0")
    assert laptop.processes() == {}


def test_an_exit_code_that_is_final_fails_the_job_with_the_programs_sentence(laptop: Laptop) -> None:
    laptop.write(toy_job(3, "--exit", "1"))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 1
    assert ended.status["phase"] == "Failed"
    assert "the toy was told to break" in ended.errors
    assert laptop.processes() == {}


def test_two_jobs_of_one_file_run_side_by_side(laptop: Laptop) -> None:
    laptop.write(toy_job(name="first"), toy_job(name="second"))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert [item["metadata"]["name"] for item in ended.job["items"]] == ["first", "second"]
    assert [item["status"]["phase"] for item in ended.job["items"]] == ["Complete", "Complete"]


def test_two_runs_at_once_do_not_meet(laptop: Laptop) -> None:
    laptop.write(toy_job(name="first"), name="first.yaml")
    laptop.write(toy_job(name="second"), name="second.yaml")

    both = [laptop.start("run", f"{name}.yaml", "-o", "json") for name in ("first", "second")]
    ended = [each.end() for each in both]

    assert [each.status["phase"] for each in ended] == ["Complete", "Complete"], ended


def test_a_program_that_ignores_sigterm_is_killed_after_its_grace_period(laptop: Laptop) -> None:
    job = toy_job(ENDLESS, "--deaf")
    job["spec"]["template"]["spec"]["terminationGracePeriodSeconds"] = 1
    laptop.write(job)
    running = laptop.training("-o", "json")

    running.interrupt()
    ended = running.end(seconds=25)

    assert ended.code == 130
    assert laptop.processes() == {}


def test_nothing_outlives_a_run_that_was_killed_and_the_job_can_be_resumed(laptop: Laptop) -> None:
    laptop.write(toy_job(30, "--grandchild"))
    running = laptop.start("run", "job.yaml")
    wait_until(lambda: laptop.trains(epoch=2))

    running.kill()
    running.end()
    wait_until(lambda: not laptop.processes(), seconds=20)
    assert {path.name for path in laptop.folder.glob("qtj-*")} == {"qtj-artifacts"}
    resumed = laptop.qtj("run", "job.yaml", "-o", "json")

    assert resumed.code == 0, resumed.errors
    assert resumed.status["phase"] == "Complete"
    assert (resumed.status["restarts"], resumed.status["disruptions"]) == (0, 1)
    assert not (laptop.artifacts() / "logs/toy-worker-0.2.log").read_text().startswith("begins after epoch 0")


def test_a_deadline_fails_the_job_and_ends_its_programs(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS, runPolicy={"activeDeadlineSeconds": 2}))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 1
    assert ended.status["reason"] == "DeadlineExceeded"
    assert laptop.processes() == {}


def test_a_job_that_is_suspended_by_its_author_starts_nothing(laptop: Laptop) -> None:
    laptop.write(toy_job(suspend=True))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 2
    assert "spec.suspend: this is true, so nothing would run: write false, for example by --set" in ended.errors
    assert not laptop.artifacts().exists()


def test_a_log_that_cannot_be_written_costs_the_log_and_not_the_training(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=30))
    running = laptop.training()
    running.stop()
    (laptop.artifacts() / "logs/toy-worker-1.2.log").mkdir()

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert ended.status["attempt"] == 2


def test_what_a_run_does_another_way_is_said_first(laptop: Laptop) -> None:
    job = toy_job(ENDLESS)
    job["spec"]["template"]["spec"]["initContainers"] = [{"name": "fetch", "image": "fetch:1"}]
    laptop.write(job, {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "team"}})
    running = laptop.training()
    running.interrupt()
    said = running.end().output

    assert "Namespace team means nothing on this machine" in said
    assert "the container fetch is not run on this machine: only the main one is" in said
    assert f"artifacts are stored in {laptop.artifacts().as_uri()}, not in gs://bucket/toy" in said


def test_an_interrupt_before_anything_has_begun_is_no_traceback(laptop: Laptop) -> None:
    os.mkfifo(laptop.folder / "job.yaml")  # reading it waits for somebody to write
    running = laptop.start("run", "job.yaml")
    with (laptop.folder / "job.yaml").open("w"):  # it is being read now
        running.interrupt()
        ended = running.end()

    assert (ended.code, ended.output, ended.errors) == (130, "", "")


def test_a_run_goes_on_when_nobody_reads_its_lines_any_more(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=10))
    running = laptop.start("run", "job.yaml")
    assert running.process.stdout
    running.process.stdout.close()
    running.process.stdout = None
    ended = running.end()

    assert (ended.code, ended.errors) == (0, "")
    assert laptop.record()["status"]["phase"] == "Complete"


def test_output_that_the_disk_has_no_room_for_is_a_sentence(laptop: Laptop) -> None:
    laptop.write(toy_job())

    ended = laptop.run_apart(f"{shlex.join(QTJ)} render job.yaml > /dev/full")

    assert ended.returncode == 1
    assert ended.stderr == "qtj: the output cannot be written (No space left on device): make room\n"


def test_inference_that_is_not_done_in_time_fails_the_job_and_leaves_the_weights(laptop: Laptop) -> None:
    endless = {"command": ["python", "-c", "import time; time.sleep(600)"], "args": [], "activeDeadlineSeconds": 1}
    laptop.write(toy_job(epochs=1, inference=endless))

    ended = laptop.qtj("run", "job.yaml", "-o", "json")

    (failed,) = (each for each in ended.status["conditions"] if each["type"] == "Failed")
    assert (ended.code, failed["reason"], "weights" in ended.status) == (1, "InferenceFailed", True)
    assert failed["message"].startswith("toy-inference was stopped because it was not done after 1 s")
    assert laptop.processes() == {}
