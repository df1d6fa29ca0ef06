"""A job that trains, as `qtj profile` sees it: on this machine, or on a cluster."""

from typing import Protocol

from qtj.local.http import Answer
from qtj_operator.controller.client import Object

__all__ = ["NoAnswerError", "Target"]


class NoAnswerError(Exception):
    """A replica cannot be reached. The message is the reason, in a few words."""


class Target(Protocol):
    """A job whose replicas can be asked.

    Attributes:
        name: Its name on the command line.
        artifacts: The address of its artifacts.
        viewer: How to see its profiles, in a few words.
    """

    name: str
    artifacts: str
    viewer: str

    async def read(self) -> Object:
        """Returns the job as it is now.

        Raises:
            InputError: There is none any more, or it cannot be read.
        """

    async def ask(self, replica: str, method: str, body: str = "") -> Answer:
        """Sends a request to the profile endpoint of a replica, such as worker-0.

        Raises:
            NoAnswerError: It cannot be reached.
        """
