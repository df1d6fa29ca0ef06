"""The record of a program among its artifacts: its text, and where it comes from. For the leader.

begin          before training: text, arguments, commit, machine and image
add_imports    once the program has imported what it trains with, and again when it ends: versions, and modules that
               were saved again before their import
"""

import logging
import sys
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from qtj_contract import Env
from qtj_contract.origin import Origin, commit_of, machine
from qtj_contract.program_source import ProgramSource, read_code
from qtj_contract.stored_source import FOLDER, newest, origin_name, programs_from, stored_files
from qtj_trainer.errors import TrainerError
from qtj_trainer.libraries import imported_versions
from qtj_trainer.program.running_code import is_code_of, not_imported, running_code
from qtj_trainer.replica.tracked import About
from qtj_trainer.storage import Store

__all__ = ["SourceRecord", "changes_of", "options_in", "recorded_in"]

log = logging.getLogger("qtj_trainer")

Programs = Mapping[str, ProgramSource]


class SourceRecord:
    """Stores what a training runs. What cannot be stored never ends it."""

    def __init__(
        self, store: Store, source: ProgramSource | None, environment: Mapping[str, str], *, is_script: bool
    ) -> None:
        """Stores nothing yet.

        Args:
            store: Where the artifacts are.
            source: The program, if its file still has the text that runs.
            environment: The environment.
            is_script: Whether the process runs a script, and no notebook.
        """
        self._store = store
        self._source = source
        self._environment = environment
        self._is_script = is_script
        self._number = 0
        self._is_ours_alone = False
        self._not_imported: list[str] = []
        self._origin = Origin()

    @property
    def warning(self) -> str:
        """What the job shows as a warning, because two programs have trained; empty if it is one."""
        changed = self._origin.changed
        return f"a restart has continued the training with another program ({changed})" if changed else ""

    def about(self, parameters: Mapping[str, Any]) -> About:
        """Returns what a tracking server gets of the program: its arguments, and where its text comes from.

        Args:
            parameters: The values of the trial that it is part of.
        """
        if self._source is None:
            return About("program", parameters)
        script, code = self._source.script, self._source.digest
        labels = {"script": script, "program": code, "commit": self._origin.commit}
        return About(Path(script).stem, {**options_in(self._source.arguments), **parameters}, labels)

    def begin(self) -> None:
        """Stores the program, unless its training has recorded the same one last, and where it comes from."""
        try:
            self._source = source = self._source or (self._recorded() if self._is_script else None)
            if source is None:
                return
            self._record(source)
            self._store.write(origin_name(self._number), self._origin.to_bytes())
        except TrainerError as problem:
            log.warning("the program is not recorded: %s", problem)

    def add_imports(self) -> None:
        """Stores what the program has imported by now: versions of packages, and its own modules."""
        if not self._number:
            return
        versions = imported_versions()
        if versions == self._origin.versions:
            return
        try:
            self._record_saved_again()
            self._origin = replace(self._origin, versions=versions)
            self._store.write(origin_name(self._number), self._origin.to_bytes())
        except TrainerError as problem:
            log.warning("what the program has imported is not recorded: %s", problem)

    def _recorded(self) -> ProgramSource | None:
        """Returns the program that runs from the newest record, which `qtj run` makes before a program starts."""
        if not hasattr(sys.modules["__main__"], "__file__"):  # as after `python -c`
            return None
        code = running_code()
        for each in recorded_in(self._store)[1].values():
            if code and is_code_of(each.code.get(each.script, ""), code):
                return replace(each, arguments=sys.argv[1:])
        log.warning("the program was saved again since it started, and its earlier text, which runs, is not recorded")
        return None

    def _record_saved_again(self) -> None:
        """Stores modules that were saved again after the program had started, and before it has imported them."""
        if self._source is None:
            return
        root = _root_of(self._source)
        waiting, self._not_imported = self._not_imported, []
        now = {name: text for name in waiting if (text := read_code(root / name)) is not None}
        source = replace(self._source, code={**self._source.code, **now})
        if source == self._source:
            return
        self._source = source
        if self._is_ours_alone:
            self._write(source)
        else:
            self._record(source)

    def _record(self, source: ProgramSource) -> None:
        """Stores the program, unless the newest record is of the same one and of the same job.

        Arguments and data of a job are not compared: it has a record of its own.
        """
        uid = self._environment.get(Env.JOB_UID, "")
        number, earlier = recorded_in(self._store)
        before = _stored_origin(self._store, number)
        is_ours = bool(number) and before.job_uid in {"", uid}  # the command does not know the uid yet
        changed = changes_of(earlier, source, is_job=bool(uid)) if is_ours else []
        is_restart = bool(uid) and before.job_uid == uid
        if changed and is_restart:
            log.warning("this job goes on with another program: %s", "; ".join(changed))
        words = [*filter(None, [before.changed]), *changed] if is_restart else []
        self._origin = replace(_origin_of(source, self._environment), changed="; ".join(words))
        is_new = bool(changed) or not is_ours
        self._is_ours_alone = is_new or not is_restart
        self._number = number + is_new
        if is_new:
            self._write(source)
        self._not_imported = not_imported(_root_of(source), source.code)

    def _write(self, source: ProgramSource) -> None:
        for name, data in stored_files({source.script: source}, self._number).items():
            self._store.write(name, data)


def recorded_in(store: Store) -> tuple[int, Programs]:
    """Returns number and programs of the newest record; 0 without one that can be read."""
    number = newest(name for folder in store.folders(FOLDER) for name in store.list(folder))
    with suppress(ValueError):
        return number, programs_from(store.read(f"{FOLDER}/{number}/source.json")) if number else {}
    return 0, {}


def changes_of(earlier: Programs, now: ProgramSource, *, is_job: bool) -> list[str]:
    """Returns what changed, but for arguments and data of a job, which has a record of its own."""
    for before in earlier.values():
        if before.script == now.script:
            return now.changes_since(replace(before, arguments=now.arguments, data=now.data) if is_job else before)
    return [f"{now.script} is new"] if earlier and not is_job else []


def _stored_origin(store: Store, number: int) -> Origin:
    with suppress(ValueError, TrainerError):  # an earlier version stored none
        return Origin.from_bytes(store.read(origin_name(number)))
    return Origin()


def _origin_of(source: ProgramSource, environment: Mapping[str, str]) -> Origin:
    return Origin(
        job_uid=environment.get(Env.JOB_UID, ""),
        commit=commit_of(_root_of(source), list(source.code)),
        machine=machine(),
        image="" if environment.get(Env.PROGRESS_LOG) else environment.get(Env.IMAGE, ""),  # `qtj run` starts no image
    )


def _root_of(source: ProgramSource) -> Path:
    """Returns the folder of a program's modules."""
    path = getattr(sys.modules["__main__"], "__file__", None)
    return Path(path).resolve().parents[source.script.count("/")] if path else Path.cwd()


def options_in(arguments: Sequence[str]) -> dict[str, str]:
    """Returns the options by their names, and what is none as `arguments`.

    Which options have a value, only the program knows. So a word after an option counts as its value, unless it begins
    with a minus and is no number.
    """
    found: dict[str, str] = {}
    others: list[str] = []
    words = list(arguments)
    while words:
        word = words.pop(0)
        name, sign, value = word.lstrip("-").partition("=")
        if not _is_option(word):
            others.append(word)
        elif sign:
            found[name] = value
        else:
            found[name] = words.pop(0) if words and not _is_option(words[0]) else "true"
    return {**found, **({"arguments": " ".join(others)} if others else {})}


def _is_option(word: str) -> bool:
    return word.startswith("-") and word.strip("-") != "" and not word[1:2].isdecimal() and word[1:2] != "."
