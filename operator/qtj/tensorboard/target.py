"""The job or run that `qtj tensorboard` names."""

from pathlib import Path

from qtj.files.documents import read_file
from qtj.terminal.errors import InputError

__all__ = ["job_named"]


def job_named(word: str | None) -> str | None:
    """Returns the name of a job or a run: the word itself, or the job of the file that it names.

    Raises:
        InputError: The file has no job, or several.
    """
    if word is None or not _is_file(word):
        return word
    file = read_file(Path(word))
    if file.mistakes:
        raise InputError("\n".join(file.mistakes))
    names = [str(job.manifest["metadata"]["name"]) for job in file.jobs]
    if len(names) > 1:
        raise InputError(f"{word} has several jobs: name one of {', '.join(names)} instead of the file")
    return names[0]


def _is_file(word: str) -> bool:
    return word.endswith((".yaml", ".yml", ".json")) or Path(word).is_file()
