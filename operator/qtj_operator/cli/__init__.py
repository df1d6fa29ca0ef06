"""The command line: `qtj`."""

from qtj_operator.cli.main import app

__all__ = ["app"]
