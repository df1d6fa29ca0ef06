"""The record of a program among its artifacts: its text, and where it comes from. For the leader.

begin          before training: text, arguments, commit, machine and image
add_versions   once the program has imported what it trains with, and again when it ends
"""

import logging
import sys
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

from qtj_contract import Env
from qtj_contract.origin import Origin, commit_of, machine
from qtj_contract.program_source import ProgramSource
from qtj_contract.stored_source import FOLDER, newest, origin_name, programs_from, stored_files
from qtj_trainer.errors import TrainerError
from qtj_trainer.libraries import imported_versions
from qtj_trainer.program.options_in import options_in
from qtj_trainer.replica.tracked import About
from qtj_trainer.storage import Store

__all__ = ["SourceRecord", "changes_of", "recorded_in"]

log = logging.getLogger("qtj_trainer")

Programs = Mapping[str, ProgramSource]


class SourceRecord:
    """Stores what a training runs. What cannot be stored never ends it."""

    def __init__(self, store: Store, source: ProgramSource | None, environment: Mapping[str, str]) -> None:
        self._store = store
        self._source = source
        self._environment = environment
        self._number = 0
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
        if self._source is None:
            return
        try:
            self._record(self._source)
            self._store.write(origin_name(self._number), self._origin.to_bytes())
        except TrainerError as problem:
            log.warning("the program is not recorded: %s", problem)

    def add_versions(self) -> None:
        """Stores the versions of the packages that the program has imported by now."""
        if not self._number:
            return
        versions = imported_versions()
        if versions == self._origin.versions:
            return
        self._origin = replace(self._origin, versions=versions)
        try:
            self._store.write(origin_name(self._number), self._origin.to_bytes())
        except TrainerError as problem:
            log.warning("the versions of packages are not recorded: %s", problem)

    def _record(self, source: ProgramSource) -> None:
        """Stores the program, unless the newest record is of the same one and of the same job.

        Arguments and data of a job are not compared: it has a record of its own.
        """
        uid = self._environment.get(Env.JOB_UID, "")
        number, earlier = recorded_in(self._store)
        before = _stored_origin(self._store, number)
        is_ours = bool(number) and before.job_uid in {"", uid}  # the command does not know the uid yet
        changed = changes_of(earlier, source, is_job=bool(uid)) if is_ours else []
        if changed and uid:
            log.warning("this job goes on with another program: %s", "; ".join(changed))
        words = [*filter(None, [before.changed]), *changed] if is_ours and uid else []
        self._origin = replace(_origin_of(source, self._environment), changed="; ".join(words))
        self._number = number if is_ours and not changed else number + 1
        if self._number > number:
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
    path = getattr(sys.modules["__main__"], "__file__", None)
    root = Path(path).resolve().parents[source.script.count("/")] if path else Path.cwd()
    return Origin(
        job_uid=environment.get(Env.JOB_UID, ""),
        commit=commit_of(root, list(source.code)),
        machine=machine(),
        image="" if environment.get(Env.PROGRESS_LOG) else environment.get(Env.IMAGE, ""),  # `qtj run` starts no image
    )
