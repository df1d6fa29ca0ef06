"""A study while it runs: a table on a terminal, and a line for each trial that has ended elsewhere."""

import time
from collections.abc import Callable
from contextlib import ExitStack
from types import TracebackType
from typing import Self

from rich.console import Console, ConsoleOptions, RenderResult
from rich.live import Live
from rich.table import Table
from rich.text import Text

from qtj.local.store import Change
from qtj.runs.line_view import LineView, key_of
from qtj.runs.status_text import facts_of
from qtj.runs.timeline import duration_text
from qtj.studies.words import counts_text, point_cells, point_headings, setting_text
from qtj.terminal.signals import sigterm_exits
from qtj.terminal.text import visible
from qtj_contract.digits import in_digits
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.controller.client import Key, Resource
from qtj_operator.core.study.outcome import best_of, outcomes_of, ranked, value_of

__all__ = ["StudyView", "study_view_for"]

_ROWS = 30
"""Of the table: a longer one would not fit into a terminal."""


def study_view_for(console: Console, name: str, spec: StudySpec) -> "StudyView":
    """Returns the view for a console."""
    can_move = console.is_terminal and not console.is_dumb_terminal
    return (_LiveStudyView if can_move else StudyView)(console, name, spec)


class StudyView(LineView):
    """Prints a line for each trial that has ended."""

    def __init__(
        self, console: Console, name: str, spec: StudySpec, clock: Callable[[], float] = time.monotonic
    ) -> None:
        super().__init__(console, clock=clock)
        self._name = name
        self._spec = spec
        self._status = StudyStatus(phase=StudyPhase.RUNNING)
        self._facts: dict[Key, str] = {}

    def show_change(self, change: Change) -> None:
        """Keeps how far each trial is."""
        if change.resource is Resource.QUANTUM_TRAINING_JOBS:
            facts = facts_of(change.object.get("status") or {})
            self._facts[key_of(change.object)] = facts.get("epoch", "")

    def set_activity(self, key: Key, activity: str) -> None:
        """Trials are too many for their activities."""

    def set_status(self, status: StudyStatus) -> None:
        """Shows the study as it is now."""
        self._status = status

    def show_trial(self, trial: TrialStatus, key: Key) -> None:
        """Shows a trial that has ended."""
        self._facts.pop(key, None)
        has_failed = trial.phase == TrialPhase.FAILED
        if has_failed or self._tells_each:
            self.print(_trial_line(self._name, trial, self._spec), "red" if has_failed else "")

    @property
    def _tells_each(self) -> bool:
        return True


class _LiveStudyView(StudyView):
    """Draws the table of the points again and again, below the lines."""

    def __init__(self, console: Console, name: str, spec: StudySpec) -> None:
        super().__init__(console, name, spec)
        self._live = Live(_Drawn(self._table), console=console, refresh_per_second=2, transient=True)
        self._open = ExitStack()

    def __enter__(self) -> Self:
        """Begins to draw."""
        self._open.enter_context(sigterm_exits())
        self._open.enter_context(self._live)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, traceback: TracebackType | None
    ) -> None:
        """Removes the table: what follows has the final one."""
        self._open.close()
        super().__exit__(kind, error, traceback)

    @property
    def _tells_each(self) -> bool:
        return False

    def _table(self) -> Table:
        outcomes = outcomes_of(self._spec, self._status.trials)
        best = best_of(outcomes, self._spec.objective)
        title = f"{duration_text(self._now())}  {self._name}  {counts_text(self._spec, self._status)}{self._running()}"
        table = Table(title=Text(visible(title)), title_justify="left", box=None, pad_edge=False, padding=(0, 2, 0, 0))
        for heading in point_headings(self._spec):
            table.add_column(Text(visible(heading)), no_wrap=True)
        for each in ranked(outcomes, self._spec.objective)[:_ROWS]:
            cells = point_cells(each, is_best=each is best)
            table.add_row(*map(Text, map(visible, cells)), style="green" if each is best else "")
        return table

    def _running(self) -> str:
        running = [f"{key[1]} {facts}".rstrip() for key, facts in sorted(self._facts.items())]
        return f"  running: {', '.join(running)}" if running else ""


class _Drawn:
    def __init__(self, table: Callable[[], Table]) -> None:
        self._make = table

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        yield self._make()


def _trial_line(name: str, trial: TrialStatus, spec: StudySpec) -> str:
    head = f"{name}/{trial.number}  {setting_text(trial)}"
    if trial.phase == TrialPhase.FAILED:
        return f"{head}  failed: {trial.message}"
    if trial.phase == TrialPhase.STOPPED:
        return f"{head}  stopped: {trial.message}"
    value = value_of(trial, spec.objective)
    return f"{head}  {spec.objective.metric} {'-' if value is None else in_digits(value)}"
