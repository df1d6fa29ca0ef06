"""The interface of a store."""

from collections.abc import Mapping, Sequence
from typing import Protocol

from qtj_trainer.errors import UserError

__all__ = ["MissingObjectError", "Store"]


class MissingObjectError(UserError):
    """There is no object with this name."""

    def __init__(self, uri: str) -> None:
        super().__init__(f"{uri} does not exist: check the address, and that the training that writes it has finished")


class Store(Protocol):
    """Named objects below one URI. Names are relative and use "/" on every platform."""

    def uri(self, name: str) -> str:
        """Returns the absolute address of an object, for `read_uri`."""

    def check_writable(self) -> None:
        """Raises UserError if a later `write` would raise it, so that it is reported before the hours of training."""

    def read(self, name: str) -> bytes:
        """Returns the bytes of an object.

        Raises:
            MissingObjectError: If it does not exist.
        """

    def write(self, name: str, data: bytes) -> None:
        """Creates or replaces an object. A reader gets the old bytes or the new ones, never a part."""

    def list(self, folder: str) -> Sequence[str]:
        """Returns the names of all objects directly in a folder, with files of interrupted writes."""

    def versions(self, folder: str) -> Mapping[str, str]:
        """Returns a version for each object directly in a folder, by its name: another one after each write."""

    def sizes(self, folder: str) -> Mapping[str, int]:
        """Returns the size of each object directly in a folder in bytes, by its name, in order."""

    def folders(self, folder: str) -> Sequence[str]:
        """Returns the names of all folders directly in a folder, in order."""

    def delete(self, name: str) -> None:
        """Deletes an object; it is no error if the object does not exist."""

    def close(self) -> None:
        """Closes connections."""
