"""Whether a program owns its process: only then may it end it, or change how signals and errors are handled."""

import sys
from collections.abc import Mapping

from qtj_contract import Env

__all__ = ["owns_process"]

_BETWEEN = {__name__.partition(".")[0], "importlib"}
"""Packages whose functions may stand between a program and this module: `from ... import Program` is a call too."""


def owns_process(environment: Mapping[str, str]) -> bool:
    """Returns whether the code that calls this package is the whole purpose of the process.

    That is a replica of a job, or a script that was started by its name. It is not a notebook or a prompt, whose next
    line comes from a user, nor a module that another program has imported.
    """
    if environment.get(Env.JOB_UID) or environment.get(Env.TF_CONFIG):
        return True
    return not hasattr(sys, "ps1") and _caller() == "__main__"


def _caller() -> str:
    """Returns the name of the module that has called this package."""
    frame = sys._getframe()  # noqa: SLF001  what `inspect` uses, without its import
    while frame.f_back and frame.f_globals.get("__name__", "").partition(".")[0] in _BETWEEN:
        frame = frame.f_back
    return str(frame.f_globals.get("__name__", ""))
