"""What every store can do."""

from collections.abc import Sequence
from typing import Protocol

from qtj_trainer.errors import UserError

__all__ = ["MissingObjectError", "Store"]


class MissingObjectError(UserError):
    """There is no object of that name."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"{uri} does not exist: check the address, and that the training that writes it has finished")


class Store(Protocol):
    """Named objects below one URI. Names are relative and use "/" on every platform."""

    def uri(self, name: str) -> str:
        """Returns the absolute address of an object, which `read_uri` understands anywhere."""

    def check_writable(self) -> None:
        """Raises UserError where a later `write` would: before the hours of training, not after."""

    def read(self, name: str) -> bytes:
        """Returns an object whole.

        Raises:
            MissingObjectError: If it does not exist.
        """

    def write(self, name: str, data: bytes) -> None:
        """Creates or replaces an object; a reader sees the old bytes or the new ones, never a part."""

    def list(self, folder: str) -> Sequence[str]:
        """Returns the names of all objects directly in a folder, and of what interrupted writes left there."""

    def folders(self, folder: str) -> Sequence[str]:
        """Returns the names of all folders directly in a folder, in order."""

    def delete(self, name: str) -> None:
        """Deletes an object; one that does not exist is no error."""

    def close(self) -> None:
        """Closes connections."""
