"""The current folder of a user, as for the tests of the command."""

from tests.cli.conftest import folder

__all__ = ["folder"]
