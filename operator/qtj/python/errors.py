"""What `wait` raises; what a user has to correct is an `InputError`, as in the commands."""

from qtj.terminal.errors import QtjError

__all__ = ["JobFailedError", "NotFinishedError"]


class JobFailedError(QtjError):
    """The job has failed; the message is the sentence of the command."""


class NotFinishedError(QtjError, TimeoutError):
    """The job has not finished in the time that was given, or was stopped."""
