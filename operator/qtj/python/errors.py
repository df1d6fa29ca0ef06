"""What `wait` and a study raise; what a user has to correct is an `InputError`, as in the commands."""

from qtj.terminal.errors import QtjError

__all__ = ["JobFailedError", "NotFinishedError", "StudyFailedError"]


class JobFailedError(QtjError):
    """The job has failed; the message is the sentence of the command."""


class StudyFailedError(QtjError):
    """The study has failed; the message is the sentence of the command."""


class NotFinishedError(QtjError, TimeoutError):
    """The job or the study has not finished in the time that was given, or was stopped."""
