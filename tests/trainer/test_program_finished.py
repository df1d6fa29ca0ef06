"""A program whose job has its result, and which is run again: nothing is left of its checkpoints."""

from tests.trainer.loops import LOOP, Folder

KILLED = LOOP.replace(
    "program.finish(", "import os\nprogram._training.clear = lambda: os.kill(os.getpid(), 9)\nprogram.finish("
)
"""The loop, killed once its result is stored, before it deletes its checkpoints."""


def test_checkpoints_that_outlived_the_result_are_deleted_by_the_next_run(job: Folder) -> None:
    killed = job.run("pass", KILLED)
    left = job.stored("checkpoints/uid-1/*")
    again = job.run()

    assert (killed.code, len(left)) == (-9, 2), killed.errors
    assert (again.code, again.output) == (0, "")
    assert again.message
    assert again.message.weights
    assert job.stored("checkpoints/*/*") == []
