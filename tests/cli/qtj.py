"""`qtj` in this process: what it prints, and its exit code."""

from dataclasses import dataclass
from pathlib import Path

from typer.testing import CliRunner

from qtj.commands.main import app


@dataclass(frozen=True)
class Answer:
    code: int
    output: str
    errors: str

    @property
    def sentences(self) -> list[str]:
        return [line.removeprefix("qtj: ") for line in self.errors.splitlines()]


def qtj(*arguments: str) -> Answer:
    result = CliRunner().invoke(app, arguments)
    if result.exception and not isinstance(result.exception, SystemExit):
        raise result.exception
    return Answer(result.exit_code, result.stdout, result.stderr)


def validated(folder: Path, jobs: str) -> Answer:
    """What `qtj validate` says of a file with these jobs."""
    (folder / "job.yaml").write_text(jobs)
    return qtj("validate", "job.yaml")
