"""Whether `qtj run` continues an earlier run of its job, or starts over in a new folder.

the last run     without an option                        --resume                            --fresh
-------------    --------------------------------------   ---------------------------------   -----------
none             starts over                              refused                             starts over
active           refused                                  refused                             starts over
interrupted      continues when it is the same program    continues unless the spec forbids   starts over
Failed           starts over                              continues, as `spec.retry` does     starts over
Complete         starts over                              trains on with more epochs, or      starts over
                                                          infers again when that changed

If the last run is of another program or has other arguments, the newest one of the same counts in its place, if it was
interrupted, also while the last run is active: `qtj.runs.prepare` finds it. With --resume, it is the newest run that
can continue with these arguments.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from qtj.files.config_data import changed_configs
from qtj.files.documents import Document
from qtj.local.folder import Folder, FolderError
from qtj.local.hidden import recorded_spec
from qtj.local.history import INTERRUPTED, phase_of
from qtj.local.records import reopened
from qtj.runs.programs import changed_arguments, changed_programs, earlier_programs, programs_of
from qtj.terminal.errors import InputError
from qtj_contract.program_source import ProgramSource, without_epochs
from qtj_operator.api.conditions import ConditionType, is_true
from qtj_operator.api.reading import read_status
from qtj_operator.api.sizes import without_sizes
from qtj_operator.api.spec import IMMUTABLE

__all__ = ["EarlierRun", "Start", "can_continue", "is_resumable", "is_same", "start_of"]

_OF_NO_CONSEQUENCE = {"suspend", "retry"}
_EPOCHS = "--epochs"


@dataclass(frozen=True, slots=True, kw_only=True)
class EarlierRun:
    """The last run of a job before this one.

    Attributes:
        name: Its name on the command line.
        folder: Where it is.
        phase: The phase of its job, or Interrupted.
        record: Its job.
    """

    name: str
    folder: Folder
    phase: str
    record: Mapping[str, Any]

    @property
    def programs(self) -> Mapping[str, ProgramSource] | None:
        """Its programs, as far as they are known."""
        return earlier_programs(self.folder.path)

    @classmethod
    def of(cls, name: str, folder: Folder) -> "EarlierRun":
        """Reads the record of a run.

        Raises:
            FolderError: It is active, or has no record.
        """
        if folder.is_active:
            raise FolderError(
                f"{name} is active in {folder.path}: follow it with `qtj attach {name}`, stop it with "
                f"`qtj stop {name}`, or start another beside it with --fresh"
            )
        return cls.recorded(name, folder)

    @classmethod
    def recorded(cls, name: str, folder: Folder) -> "EarlierRun":
        """Reads the record of a run, which may be active.

        Raises:
            FolderError: It has no record.
        """
        record = folder.load()
        return cls(name=name, folder=folder, phase=phase_of(record, is_active=folder.is_active), record=record)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """How a run starts.

    Attributes:
        earlier: The run that it continues; None if it starts over.
        spec: Its spec.
        note: What a user should know about it.
        trains_on: Whether the training of the earlier run is finished, and continues.
    """

    earlier: EarlierRun | None = None
    spec: Mapping[str, Any]
    note: str = ""
    trains_on: bool = False

    @property
    def record(self) -> Mapping[str, Any] | None:
        """The job of the earlier run, from which this one goes on; None if it starts over."""
        if self.earlier is None:
            return None
        return reopened(self.earlier.record) if self.trains_on else self.earlier.record


def is_resumable(document: Document, earlier: EarlierRun | None) -> bool:
    """Returns whether a run was interrupted, and its job is still the same."""
    return earlier is not None and earlier.phase == INTERRUPTED and is_same(document, earlier)


def start_of(document: Document, earlier: EarlierRun | None, *, resume: bool, alongside: bool) -> Start:
    """Returns how the run of a job starts.

    Args:
        document: The job.
        earlier: The last run of a job of this name; None if there is none or the user wants to start over.
        resume: Whether the user wants to continue.
        alongside: Whether another job of the file continues.

    Raises:
        InputError: The user wants to continue, and that is not possible.
    """
    start_over = Start(spec=document.manifest["spec"])
    if earlier is None:
        return start_over
    if resume:
        return _resumed(document, earlier)
    if is_resumable(document, earlier):
        note = f"continues {earlier.name}, which was interrupted: --fresh starts over"
        return replace(_resumed(document, earlier), note=note)
    if alongside and earlier.phase == "Complete" and is_same(document, earlier):
        return replace(_resumed(document, earlier), note=f"{earlier.name} is Complete already: --fresh trains it again")
    return replace(start_over, note=_note_on_restart(document, earlier))


def _resumed(document: Document, earlier: EarlierRun) -> Start:
    spec = document.manifest["spec"]
    before, now = earlier.record["spec"], recorded_spec(spec)
    fixed_before, fixed_now = without_sizes(before), without_sizes(now)  # any size continues from a checkpoint
    for name in IMMUTABLE:
        if why := _forbids(fixed_before.get(name), fixed_now.get(name), _trained_epochs(earlier)):
            why += _arguments_and_programs(document, earlier)
            raise InputError(document.error(["spec", name], f"{why}: undo that, or train again with --fresh"))
        is_resized = before.get(name) != now.get(name) and fixed_before.get(name) == fixed_now.get(name)
        if is_resized and _is_trained(earlier):
            what = f"the training of {earlier.name} is done, so this cannot be changed: train again with --fresh"
            raise InputError(document.error(["spec", name], what))
    trains_on = _trains_on(document, earlier)
    if earlier.phase == "Failed" and not trains_on:
        tried = max(_retry_of(earlier.record["spec"]), read_status(earlier.record).retry or 0)
        spec = {**spec, "retry": max(tried + 1, spec.get("retry") or 0)}
    notes = "; ".join(_notes_on_resume(document, earlier, trains_on=trains_on))
    return Start(earlier=earlier, spec=spec, note=notes, trains_on=trains_on)


def can_continue(document: Document, earlier: EarlierRun) -> bool:
    """Returns whether `--resume` can continue a run."""
    try:
        _resumed(document, earlier)
    except InputError:
        return False
    return True


def _is_trained(earlier: EarlierRun) -> bool:
    return is_true(read_status(earlier.record).conditions, ConditionType.TRAINED)


def _trains_on(document: Document, earlier: EarlierRun) -> bool:
    """Whether a finished training continues: with more epochs, or because a program was changed, which may have more.

    Where only inference has failed, a changed program is to infer again.
    """
    if not _is_trained(earlier):
        return False
    before, now = earlier.record["spec"], recorded_spec(document.manifest["spec"])
    has_more = any(before.get(name) != now.get(name) for name in IMMUTABLE)  # nothing else may differ
    return has_more or (earlier.phase == "Complete" and bool(_changed_programs(document, earlier)))


def _notes_on_resume(document: Document, earlier: EarlierRun, *, trains_on: bool) -> Iterator[str]:
    if trains_on:
        yield f"continues the finished training of {earlier.name}"
    if changed := ", ".join(_changed_configs(document, earlier)):
        yield f"{changed} changed since {earlier.name}, and its programs get the new values"
    if changed := "; ".join(_changed_programs(document, earlier)):
        yield f"{changed} since {earlier.name}, and this continues its training with another program"


def _retry_of(spec: Mapping[str, Any]) -> int:
    """Returns `spec.retry` of a record; 0 where it was edited to something else than a number."""
    retry = spec.get("retry")
    return retry if isinstance(retry, int) else 0


def _trained_epochs(earlier: EarlierRun) -> int:
    """Returns how many epochs a run has trained, as far as its program has said."""
    progress = read_status(earlier.record).progress
    return (progress.epoch if progress else None) or 0


def _forbids(before: Any, now: Any, trained: int) -> str | None:
    """Returns why a run cannot continue with a changed value of an immutable field. More epochs are allowed.

    Args:
        before: The value of the run to continue.
        now: The new value.
        trained: How many epochs that run has trained: without an option, how many it was to train is not known.
    """
    if before == now:
        return None
    earlier, epochs = _epochs(before), _epochs(now)
    if not earlier and any(epochs) and _without_epochs(before) == _without_epochs(now):
        earlier = [trained] * len(epochs)
    elif _mapped(before, lambda _: "") != _mapped(now, lambda _: ""):
        return "it was changed since the run to continue"
    fewer = any(b > n for b, n in zip(earlier, epochs, strict=True))
    return "it has fewer epochs than the run to continue" if fewer else None


def _mapped(value: Any, change: Callable[[str], str]) -> Any:
    """Returns the value of a field with changed numbers of epochs."""
    if isinstance(value, dict):
        return {key: _mapped(each, change) for key, each in value.items()}
    if not isinstance(value, list):
        return value
    items = [_mapped(each, change) for each in value]
    for index, item in enumerate(items):
        if isinstance(item, str) and item.startswith(f"{_EPOCHS}="):
            items[index] = f"{_EPOCHS}={change(item.partition('=')[2])}"
        elif index and items[index - 1] == _EPOCHS:
            items[index] = change(str(item))
    return items


def _without_epochs(value: Any) -> Any:
    """Returns the value of a field without numbers of epochs, and without lists that are empty then."""
    if isinstance(value, dict):
        return {key: kept for key, each in value.items() if (kept := _without_epochs(each)) != []}
    if not isinstance(value, list):
        return value
    return [_without_epochs(item) for item in without_epochs(value)]


def _epochs(value: Any) -> list[int]:
    """Returns the numbers of epochs in the value of a field, in order."""
    found: list[int] = []

    def keep(text: str) -> str:
        found.append(int(text) if text.isdecimal() else 0)
        return text

    _mapped(value, keep)
    return found


def is_same(document: Document, earlier: EarlierRun) -> bool:
    """Returns whether a run is of the same job, with the same program and data."""
    manifest, record = document.manifest, earlier.record
    same_place = manifest["metadata"]["namespace"] == record["metadata"]["namespace"]
    return same_place and next(_changed(document, earlier), None) is None


def _note_on_restart(document: Document, earlier: EarlierRun) -> str:
    """Returns what happens to an earlier run that this one does not continue."""
    if earlier.phase == "Complete":
        return f"starts over; {earlier.name} stays as it is"
    if not can_continue(document, earlier):
        what = _arguments_and_programs(document, earlier)
        return f"starts over, because the spec has changed since {earlier.name}{what}, which stays as it is"
    was = "failed" if earlier.phase == "Failed" else "was interrupted"
    fields = ", ".join(_changed_fields(document, earlier))
    changed = [*_changed_programs(document, earlier), *([f"{fields} changed"] if fields else [])]
    why = f", because {'; '.join(changed)}" if changed else ""
    return f"starts over{why}; {earlier.name} {was}, and --resume would continue it"


def _arguments_and_programs(document: Document, earlier: EarlierRun) -> str:
    programs = _programs(document)
    words = [*changed_arguments(earlier.programs, programs), *changed_programs(earlier.programs, programs)]
    return f" ({'; '.join(words)})" if words else ""


def _changed(document: Document, earlier: EarlierRun) -> Iterator[str]:
    """Yields what has changed and affects the run: fields of the spec, what it refers to, and its programs."""
    yield from _changed_fields(document, earlier)
    yield from _changed_programs(document, earlier)


def _changed_programs(document: Document, earlier: EarlierRun) -> list[str]:
    return changed_programs(earlier.programs, _programs(document))


def _programs(document: Document) -> Mapping[str, ProgramSource]:
    return programs_of(document.manifest["spec"], document.data)


def _changed_fields(document: Document, earlier: EarlierRun) -> Iterator[str]:
    """Yields fields of the spec, and the ConfigMaps and Secrets that it uses."""
    now, before = recorded_spec(document.manifest["spec"]), earlier.record["spec"]
    for name in sorted({*now, *before} - _OF_NO_CONSEQUENCE):
        if now.get(name) != before.get(name):
            yield f"spec.{name}"
    yield from _changed_configs(document, earlier)


def _changed_configs(document: Document, earlier: EarlierRun) -> list[str]:
    return changed_configs(earlier.folder.configs, document.configs)
