"""`python -m tools.resume [--check] [GROUP ...]`: measures which Keras trainings continue with the same bits.

It writes the tables of docs/reference/resume.md, which takes about ten minutes; with --check it only compares them.
"""

import argparse
import logging
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

import tf_keras as keras

from tools.resume.cases import CALLBACKS, LAYERS, OPTIMIZERS, SCHEDULES
from tools.resume.experiment import Case, continues

PAGE = Path(__file__).parents[2] / "docs/reference/resume.md"
_NO, _YES = "begins anew", "same bits"


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(prog="python -m tools.resume")
    parser.add_argument("groups", nargs="*", metavar="GROUP", help="tables to measure; all without it")
    parser.add_argument("--check", action="store_true", help="only report whether the page is up to date")
    arguments = parser.parse_args()
    logging.disable(logging.ERROR)
    tables = {group: _GROUPS[group]() for group in arguments.groups or _GROUPS}
    before = PAGE.read_text()
    text = before
    for group, table in tables.items():
        text = _with(text, group, table)
    if not arguments.check:
        PAGE.write_text(text)
    elif text != before:
        print(f"{PAGE.name} differs from what trainings do: run `python -m tools.resume`", file=sys.stderr)
        return 1
    return 0


def _with(text: str, group: str, table: Sequence[str]) -> str:
    """Returns the page with another table."""
    begin, end = f"<!-- {group}: python -m tools.resume -->", f"<!-- end of {group} -->"
    block = "\n".join([begin, "", *table, "", end])
    return re.sub(f"{re.escape(begin)}.*?{re.escape(end)}", lambda _: block, text, flags=re.DOTALL)


def _table(kind: str, cases: Sequence[Case]) -> list[str]:
    return [f"| {kind} | after a restart |", "|---|---|", *(f"| {case.name} | {_result(case)} |" for case in cases)]


def _layers() -> list[str]:
    """Returns the table of the layers: as they are, and with random generators whose state can be read."""
    hidden = [_result(case) for case in LAYERS]
    keras.backend.experimental.enable_tf_random_generator()
    visible = [_result(case) for case in LAYERS]
    keras.backend.experimental.disable_tf_random_generator()
    rows = zip(LAYERS, hidden, visible, strict=True)
    heads = ["| layer | after a restart | with `enable_tf_random_generator()` |", "|---|---|---|"]
    return [*heads, *(f"| {case.name} | {first} | {second} |" for case, first, second in rows)]


def _result(case: Case) -> str:
    return _YES if continues(case) else _NO


_GROUPS: dict[str, Callable[[], list[str]]] = {
    "optimizers": lambda: _table("optimizer", OPTIMIZERS),
    "schedules": lambda: _table("schedule of the learning rate", SCHEDULES),
    "callbacks": lambda: _table("callback", CALLBACKS),
    "layers": _layers,
}


if __name__ == "__main__":
    sys.exit(main())
