"""How a shell, or kubectl, gets its answer when the TAB key is pressed.

shell    ──_QTJ_COMPLETE=complete_bash──▶ qtj                        ──names──▶ shell
kubectl  ──words──▶ kubectl_complete-qtj, which asks as fish does    ──names, :DIRECTIVE──▶ kubectl

kubectl's protocol is in k8s.io/kubectl 0.34.4, pkg/cmd/plugin/plugin_completion.go, and the directives are those of
github.com/spf13/cobra 1.9, completions.go.
"""

import os
import shlex
import sys
from collections.abc import Callable, Sequence
from contextlib import redirect_stdout, suppress
from io import StringIO
from typing import NoReturn

__all__ = ["COMPLETE_VARIABLE", "KUBECTL", "answer"]

COMPLETE_VARIABLE = "_QTJ_COMPLETE"
"""Set when a shell asks how to complete a command line."""

KUBECTL = "complete_kubectl"
"""The value of that variable if kubectl asks: its words are those of the command line."""

_FILES, _NO_FILES = 0, 4
"""Cobra's ShellCompDirectiveDefault, with which a shell offers files where nothing else fits, and NoFileComp."""

_WIDE = "10000"
"""A help text has to stay on its line, whatever the width of the terminal."""


def answer(run: Callable[[], object], takes_files: Callable[[str], bool]) -> NoReturn:
    """Prints the answer and ends the process, without a message and without waiting for a cluster.

    Args:
        run: Prints what a command line may be completed to, as the environment asks.
        takes_files: Tells whether a command, by its name, has files among its arguments and options.
    """
    _say_nothing_else()
    words = sys.argv[1:]
    os.environ["COLUMNS"] = _WIDE
    code = 1
    with suppress(Exception):
        code = _for_kubectl(run, words, takes_files) if os.environ[COMPLETE_VARIABLE] == KUBECTL else _code_of(run)
        sys.stdout.flush()
    os._exit(code)


def _say_nothing_else() -> None:
    """Keeps libraries and credential plugins from writing on the command line that is being typed, or reading it."""
    nowhere = os.open(os.devnull, os.O_RDWR)
    for descriptor in (0, 2):
        os.dup2(nowhere, descriptor)


def _for_kubectl(run: Callable[[], object], words: Sequence[str], takes_files: Callable[[str], bool]) -> int:
    *whole, last = words or [""]
    line = shlex.join(("qtj", *whole)) + " " + (shlex.quote(last) if last else "")
    os.environ |= {
        COMPLETE_VARIABLE: "complete_fish",
        "_TYPER_COMPLETE_FISH_ACTION": "get-args",
        "_TYPER_COMPLETE_ARGS": line,
    }
    with redirect_stdout(StringIO()) as found:
        _code_of(run)
    names = found.getvalue().strip()
    directive = _FILES if not names and whole and takes_files(whole[0]) else _NO_FILES
    sys.stdout.write(f"{names}\n:{directive}\n")
    return 0


def _code_of(run: Callable[[], object]) -> int:
    try:
        run()
    except SystemExit as ending:
        return ending.code if isinstance(ending.code, int) else 0
    return 0
