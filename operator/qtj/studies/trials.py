"""The trials of a study as runs of this machine: which start next, and what those that have ended have reported.

The record is written before a trial starts and after it has ended. A trial that it has as running is looked at in its
own folder: so it makes no difference when a command was stopped.
"""

import math
import time
from collections.abc import Mapping, Sequence
from contextlib import ExitStack, suppress
from datetime import UTC, datetime, timedelta

from qtj.checks.study import StudyDocument
from qtj.local.folder import Folder, FolderError
from qtj.local.history import History
from qtj.local.records import is_over
from qtj.local.session import LocalJob
from qtj.report.local import run_content
from qtj.runs.folders import RecordedRun
from qtj.runs.programs import store_programs
from qtj.runs.status_text import phase_message
from qtj.studies.record import StudyRecord, recorded_study
from qtj.terminal.errors import InputError
from qtj_operator.api.status import Phase
from qtj_operator.api.study_status import StudyPhase, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.controller.client import Object
from qtj_operator.controller.suggest import NoSuggestion, suggest
from qtj_operator.core.study.decide import StudyDecision, decide_study
from qtj_operator.core.study.epoch import epoch_numbers, reached_of
from qtj_operator.core.study.plan import Setting
from qtj_operator.core.study.points import Point
from qtj_operator.core.study.stopping import judged
from qtj_operator.manifests.trial import LABEL_TRIAL
from qtj_report.content import Content

__all__ = ["Trials"]


class Trials:
    """The trials of a study.

    Args:
        study: The study.
        record: Its record, whose lock this process has.
        trials: Those of an earlier command that count.
        room: How many may run side by side.
        stack: Releases the folders of trials at the end.

    Attributes:
        status: The status of the study.
    """

    def __init__(
        self,
        study: StudyDocument,
        record: StudyRecord,
        trials: Sequence[TrialStatus],
        *,
        room: int,
        stack: ExitStack,
    ) -> None:
        self._study = study
        self._record = record
        self._room = room
        self._stack = stack
        self._folders: dict[int, Folder] = {}
        self._since = time.monotonic()
        self.status = StudyStatus(phase=StudyPhase.RUNNING, trials=list(trials))

    async def begin(self) -> list[LocalJob]:
        """Returns the trials that run first: those that an earlier command has left unfinished, and new ones."""
        self.refresh()
        await self._start()
        is_over = self.status.phase != StudyPhase.RUNNING
        return [] if is_over else [self._job(each) for each in self.status.trials if not each.is_over]

    async def next(self) -> list[LocalJob]:
        """Returns the trials that start now."""
        return [self._job(each) for each in await self._start()]

    def ended(self, job: Object) -> TrialStatus:
        """Records the result of a trial that has ended, and returns it; one that was stopped has its result already."""
        number = int(job["metadata"]["labels"][LABEL_TRIAL])
        folder = self._folders.pop(number)
        folder.release()
        trial = self._trial(number)
        if not trial.is_over:
            trial = _with_result(trial, folder, job)
        self._replace(trial)
        self._save()
        return trial

    def stops(self, job: Object) -> bool:
        """Compares a trial that runs with others, and returns whether it is to be stopped."""
        number, reached = int(job["metadata"]["labels"][LABEL_TRIAL]), reached_of(job.get("status") or {})
        if reached is None or self._trial(number).is_over:
            return False
        trials = judged(self._study.spec, self.status.trials, {number: reached})
        if trials != self.status.trials:
            self.status = self.status.changed(trials=trials)
            self._save()
        return self._trial(number).phase == TrialPhase.STOPPED

    def refresh(self) -> None:
        """Records the results of trials whose end was not seen, as when this command was stopped."""
        for trial in self.status.trials:
            folder = self.folder(trial)
            if not trial.is_over and folder.is_used:
                with suppress(FolderError):  # it is run again
                    job = folder.load()
                    if is_over(job):
                        self._replace(_with_result(trial, folder, job))

    def settle(self) -> None:
        """Records how the study stands when nothing of it runs any more."""
        self.refresh()
        decision = self._decided(0)
        self.status = self.status.changed(phase=decision.phase, message=decision.message)
        self._save()

    def _save(self) -> None:
        self._record.save(recorded_study(self._study.name, self._study.spec, self.status))

    def folder(self, trial: TrialStatus) -> Folder:
        """Returns the folder of a trial's run."""
        return self._folders.get(trial.number) or Folder(self._record.path / str(trial.number))

    def _decided(self, room: int, suggested: Sequence[Point] = ()) -> StudyDecision:
        active = timedelta(seconds=time.monotonic() - self._since)
        return decide_study(self._study.spec, self.status.trials, room, active, suggested)

    async def _start(self) -> Sequence[TrialStatus]:
        """Records what is decided now; returns the trials that start."""
        decision = self._decided(self._room)
        if decision.suggest:
            decision = self._decided(self._room, await self._suggested(decision.suggest))
        begun = [self._begun(each) for each in decision.start]
        trials = [*self.status.trials, *begun]
        self.status = StudyStatus(phase=decision.phase, message=decision.message, trials=trials)
        self._save()
        return begun

    async def _suggested(self, count: int) -> Sequence[Point]:
        try:
            return await suggest(self._study.spec, self.status.trials, count)
        except NoSuggestion as problem:
            raise InputError(str(problem)) from None

    def _begun(self, setting: Setting) -> TrialStatus:
        """Returns a trial with the number of a folder that is made for it."""
        try:
            number = int(History().make_folder(self._study.name).path.name)
        except FolderError as problem:
            raise InputError(str(problem)) from None
        return setting.trial(number)

    def _job(self, trial: TrialStatus) -> LocalJob:
        folder, document = self.folder(trial), self._study.job(trial)
        manifest = document.manifest
        try:
            folder.claim(None, document.configs)
            record = folder.load() if folder.is_used else None
            store_programs(folder, manifest["spec"], document.data)
        except (FolderError, OSError) as problem:
            raise InputError(f"trial {trial.number} cannot start: {problem}") from None
        self._folders[trial.number] = folder
        self._stack.callback(folder.release)
        return LocalJob(manifest=manifest, folder=folder, artifacts=folder.path.as_uri(), record=record)

    def _trial(self, number: int) -> TrialStatus:
        return next(each for each in self.status.trials if each.number == number)

    def _replace(self, trial: TrialStatus) -> None:
        trials = [trial if each.number == trial.number else each for each in self.status.trials]
        self.status = self.status.changed(trials=trials)


def _with_result(trial: TrialStatus, folder: Folder, job: Object) -> TrialStatus:
    status = job.get("status") or {}
    if status.get("phase") == Phase.FAILED:
        return trial.changed(phase=TrialPhase.FAILED, message=phase_message(status))
    content = run_content(RecordedRun(str(trial.number), folder, dict(job)), datetime.now(UTC))
    return trial.changed(phase=TrialPhase.COMPLETE, metrics=_metrics(content))


def _metrics(content: Content) -> Mapping[str, float]:
    """Returns what a run has reported: the numbers of the epoch whose weights are stored, and its final metrics."""
    numbers: dict[str, float | None] = {"loss": content.last_loss}
    for epoch in content.epochs:
        if epoch.number == (content.kept_epoch or content.epochs[-1].number):
            numbers |= epoch_numbers(epoch)
    numbers |= content.metrics
    return {name: number for name, number in numbers.items() if number is not None and math.isfinite(number)}
