"""A custom loop that is interrupted: its log, and which of its numbers are stored."""

from tests.trainer.loops import Folder, steps_in

KILLED = "if (epoch.number, step) == (4, 5): import os; os.kill(os.getpid(), 9)"
SPOILT = """if (epoch.number, step) == (2, 3):
            import os, time
            state.w *= np.inf
            os.kill(os.getpid(), 15)
            while not program._session.replica.stop.is_requested():
                time.sleep(0.01)"""


def test_the_log_names_the_checkpoint(job: Folder) -> None:
    job.run(KILLED)
    [*_, newest] = job.stored("checkpoints/uid-1/*")

    resumed = job.run()

    checkpoint = (job.path / "artifacts/checkpoints/uid-1" / newest).as_uri()
    assert f"resumed after epoch 3 from {checkpoint}" in resumed.errors.splitlines()


def test_a_job_that_has_finished_reports_it(job: Folder) -> None:
    trained = job.run()

    again = job.run()

    assert again.errors == f"this job has finished already: its weights are {trained.weights.uri}\n"


def test_sigterm_stores_no_weights_that_are_not_finite(job: Folder) -> None:
    ended = job.run(SPOILT)

    assert (ended.code, steps_in(job.stored("checkpoints/uid-1/*"))) == (143, [10]), ended.errors
    assert "was asked to end, after step 14" in ended.error
