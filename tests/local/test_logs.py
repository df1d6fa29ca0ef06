"""What is left of a run to look at: its logs, and the report on it."""

from tests.local.laptop import Laptop, toy_job


def test_logs_and_the_report_tell_of_a_job_that_was_run(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=3))
    laptop.qtj("run", "job.yaml")

    log = laptop.qtj("logs", "toy", "worker-0")
    unknown = laptop.qtj("logs", "toy", "worker-7")
    report = laptop.qtj("report", "toy")

    assert log.output.splitlines()[-1] == "epoch 3/3  loss 0.3333  signAccuracy 0.9"
    assert unknown.code == 2
    assert "has no log of worker-7: there are toy-worker-0.1, " in unknown.errors
    assert "epochs         3 of 3\n" in report.output
    assert "1 of 2 held-out examples are in the right class" in report.output
    assert (laptop.artifacts() / "report.txt").read_text().startswith("toy is Complete")
    assert (laptop.artifacts() / "report.svg").read_text().startswith("<svg ")


def test_logs_can_be_followed_to_the_end_of_the_job(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=20))
    running = laptop.training()

    followed = laptop.qtj("logs", "toy", "-f")
    running.end()

    lines = followed.output.splitlines()
    assert "toy-worker-0.1  epoch 20/20  loss 0.0500  signAccuracy 0.9" in lines
    assert any(line.endswith("2 held-out examples") for line in lines)


def test_following_the_logs_of_a_killed_run_ends_with_it(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=100_000))
    running = laptop.training()
    following = laptop.start("logs", "-f")

    running.kill()
    running.end()

    assert following.end(seconds=30).code == 0
