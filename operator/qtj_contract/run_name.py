"""The name of a job's run: in TensorBoard, and of the files of its report."""

from qtj_contract.variables import SAME_SPEC_ID

__all__ = ["report_path", "run_name"]

_DIGITS = 8


def run_name(job: str, uid: str) -> str:
    """Returns the name of a run: the same in all attempts of a job, and in no other job.

    Args:
        job: The name of the job, which may begin with its namespace and a slash.
        uid: `QTJ_JOB_UID`.
    """
    return f"{job.rpartition('/')[2]}-{uid.removeprefix(SAME_SPEC_ID)[:_DIGITS]}"


def report_path(run: str, suffix: str) -> str:
    """Returns the name of a file of a report, which no other job and no user writes, relative to the artifacts."""
    return f"reports/{run}{suffix}"
