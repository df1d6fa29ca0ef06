"""The command that a run which has not ended well names at its end."""

import subprocess
from pathlib import Path

import yaml

from tests.local.laptop import QTJ, Laptop, toy_job


def last_lines(laptop: Laptop, *arguments: str, command: list[str] | None = None) -> list[str]:
    """Runs a job that fails, from stdin, and returns the last lines."""
    job = toy_job(1, "--exit", "1", workers=1)
    if command:
        job["spec"]["template"]["spec"]["containers"][0] |= {"command": command, "args": []}
    ended = subprocess.run(
        [*QTJ, "run", "-", *arguments],
        cwd=laptop.folder,
        env=laptop.environment(),
        input=yaml.safe_dump(job),
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 1, ended.stderr
    return ended.stdout.splitlines()[-2:]


def test_a_job_from_stdin_needs_the_same_input_again(laptop: Laptop) -> None:
    lines = last_lines(laptop, "--artifacts", "a\nb")

    words = r"- --artifacts $'a\x0ab', with the same input"
    assert lines == [
        f"once the cause is removed, continue with: qtj run {words.replace('-', '- --resume', 1)}",
        "if that has changed the job or its arguments, start over with the same command and another --artifacts",
    ]


def test_without_a_folder_of_the_user_the_same_command_starts_over(laptop: Laptop) -> None:
    over = "if that has changed the job or its arguments, start over with: qtj run -, with the same input"

    assert last_lines(laptop)[-1] == over


def test_no_command_goes_on_with_a_run_that_was_removed(laptop: Laptop) -> None:
    folder = laptop.folder / "mine"
    removes = f"while [ -e {folder} ]; do rm -rf {folder}; done; exit 1"  # again where a record was just being written
    lines = last_lines(laptop, "--artifacts", "mine", command=["sh", "-c", removes])

    assert "--resume" not in "".join(lines)
    assert not Path(folder / "job.json").exists()
