"""The program that runs: what it is, where it stores, and which earlier training it may continue.

A job is one experiment, whatever happens to its program; without a job, the program itself tells experiments apart:

    qtj-artifacts/program       the first training
    qtj-artifacts/program-2     the next one: the first has finished, or its program, arguments or data were others

The newest training of the same program, arguments and data continues, if it was interrupted. The newest is the one that
was stored last: an older folder may have been continued. Each process keeps others out of its folder: several are often
started side by side, one for each seed.
"""

import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from functools import cache
from itertools import count, takewhile
from pathlib import Path

from qtj_contract import Env
from qtj_contract.program_source import ProgramSource, read_source, without_epochs
from qtj_trainer.errors import UserError
from qtj_trainer.program.folder_lock import take
from qtj_trainer.program.running_code import is_code_of, running_code
from qtj_trainer.program.source_record import changes_of, recorded_in
from qtj_trainer.storage import Store, open_store
from qtj_trainer.stored.extension import RESUME

__all__ = ["Place", "place_of", "running_source"]

_DEFAULT = Path("qtj-artifacts/program")
_CHECKPOINTS = "checkpoints/local"
_RESULT = "result.json"

Place = tuple[str, str]
"""An address of artifacts, and a sentence about why it is this one; empty if there is nothing to say."""


def running_source() -> ProgramSource | None:
    """Returns the script of this process; None for a prompt, a notebook, and a text that is not the one that runs."""
    main = sys.modules["__main__"]
    file = getattr(main, "__file__", None)
    if not file or hasattr(sys, "ps1"):
        return None
    path, spec = Path(file).resolve(), getattr(main, "__spec__", None)
    depth = len(spec.name.split(".")) - 1 if spec else 0  # of a module that was started by `python -m`
    source, code = read_source(path, sys.argv[1:], root=path.parents[depth]), running_code()
    text = source.code.get(source.script)
    return source if code is None or text is None or is_code_of(text, code) else None


def place_of(environment: Mapping[str, str], source: ProgramSource | None) -> Place:
    """Returns where a program stores its artifacts.

    Args:
        environment: The environment.
        source: The program; None if it is not known, and then it continues no other.

    Raises:
        UserError: The artifacts that the environment names have checkpoints of another program, or another process
            uses the folder whose training it asks to continue.
    """
    given = environment.get(Env.ARTIFACTS_URI)
    if environment.get(Env.JOB_UID) or environment.get(Env.WEIGHTS_URI):
        return given or str(_DEFAULT), ""
    if given:
        _check(open_store(given), source, environment)
        return given, ""
    return _free_folder(source, environment)


def _free_folder(source: ProgramSource | None, environment: Mapping[str, str]) -> Place:
    found, shared = _next_folder(source, environment), bool(environment.get(Env.TF_CONFIG))
    if take(Path(found[0]), shared=shared):
        return found
    if environment.get(RESUME):
        raise UserError(
            f"another process uses {found[0]}, whose training {RESUME}=1 would continue: wait for its end, or leave"
            f" {RESUME} out to start a new training"
        )
    empty = (each for each in map(_folder, count(1)) if not _has_content(each))
    free = next(each for each in empty if take(each, shared=shared))
    return str(free), f"another process uses {found[0]}, so this is a new training in {free}"


def _next_folder(source: ProgramSource | None, environment: Mapping[str, str]) -> Place:
    there = takewhile(lambda number: _folder(number).exists(), count(1))
    used = [number for number in there if _has_content(_folder(number))]
    if not used:
        return str(_DEFAULT), ""
    after, newest = str(_folder(used[-1] + 1)), sorted(map(_folder, used), key=_last_stored)[::-1]
    record = cache(lambda folder: recorded_in(open_store(str(folder))))
    alike = (each for each in newest if _changes(record(each), source, but_epochs=True) == [])
    last = next(alike, newest[0])
    changed = _changes(record(last), source)
    words = "it may be of another program" if changed is None else "; ".join(changed)
    if environment.get(RESUME):
        return str(last), f"{RESUME}=1 continues the training in {last}" + (f" ({words})" if words else "")
    same = next((each for each in newest if _changes(record(each), source) == []), None)
    if same and not (same / _RESULT).exists():
        return str(same), ""
    if (last / _RESULT).exists():
        more = f"{RESUME}=1 and more epochs would continue it"
        return after, f"the training in {last} is finished, and this one is stored in {after}: {more}"
    if changed is None:
        return after, f"the training in {last} may be of another program, so this one starts in {after}"
    return after, f"{words}: this is a new training in {after}, and {RESUME}=1 would continue the one in {last}"


def _changes(
    record: tuple[int, Mapping[str, ProgramSource]], source: ProgramSource | None, *, but_epochs: bool = False
) -> list[str] | None:
    """Returns what differs from the program of an earlier training; None if one of the two is not known."""
    number, earlier = record
    if source is None or not number:
        return None
    if but_epochs:
        source, earlier = _but_epochs(source), {name: _but_epochs(each) for name, each in earlier.items()}
    return changes_of(earlier, source, is_job=False)


def _but_epochs(source: ProgramSource) -> ProgramSource:
    return replace(source, arguments=without_epochs(source.arguments))


def _check(store: Store, source: ProgramSource | None, environment: Mapping[str, str]) -> None:
    number, earlier = recorded_in(store)
    if source is None or not number or environment.get(RESUME) or not store.list(_CHECKPOINTS):
        return
    if changed := changes_of(earlier, source, is_job=False):
        raise UserError(
            f"{store.uri(_CHECKPOINTS)} is of another training ({'; '.join(changed)}): set {Env.ARTIFACTS_URI} to"
            f" another place, or {RESUME}=1 to continue it"
        )


def _folder(number: int) -> Path:
    """Returns the folder of a training, counted from 1."""
    return _DEFAULT if number == 1 else _DEFAULT.with_name(f"{_DEFAULT.name}-{number}")


def _has_content(folder: Path) -> bool:
    return (folder / _RESULT).exists() or any((folder / _CHECKPOINTS).glob("*"))


def _last_stored(folder: Path) -> int:
    """Returns when a checkpoint or the result was stored last, in nanoseconds since 1970."""
    times = [0]
    for each in (folder / _CHECKPOINTS, folder / _RESULT):
        with suppress(OSError):
            times.append(each.stat().st_mtime_ns)
    return max(times)
