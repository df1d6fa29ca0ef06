"""A study that runs on a cluster."""

import time
from html import escape
from threading import Event
from typing import Self

from qtj.python.apart import apart
from qtj.python.errors import NotFinishedError, StudyFailedError
from qtj.python.study_results import StudyResults
from qtj.studies.content import study_content
from qtj.studies.words import study_text
from qtj.terminal.errors import InputError, extra_checked
from qtj_contract.printable import visible
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import ENDED, StudyPhase, StudyStatus

__all__ = ["PERIOD_SECONDS", "StudyHandle"]

PERIOD_SECONDS = 5.0


class StudyHandle(StudyResults):
    """A study on a cluster, whose results are in its status.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of kubectl's current context.
    """

    def __init__(self, name: str, namespace: str | None = None) -> None:
        self._name = name
        self._namespace = namespace

    @property
    def name(self) -> str:
        """Its name: the job of trial 7 is NAME-7."""
        return self._name

    def wait(self, timeout: float | None = None) -> Self:
        """Waits until the study is Complete; returns this handle.

        Args:
            timeout: Seconds; None for as long as it takes.

        Raises:
            StudyFailedError: The study has failed.
            NotFinishedError: The time is over.
            InputError: The study is not there any more, or the API server refuses.
        """
        if apart(lambda left: self._waited(timeout, left)) == StudyPhase.FAILED:
            raise StudyFailedError(self._text().splitlines()[0])
        return self

    def __repr__(self) -> str:
        """Shows the name; what happens is asked for with `phase` or `table()`."""
        return f"<qtj.StudyHandle {self._name}>"

    def _repr_html_(self) -> str:
        return f"<pre>{escape(visible(self._text()))}</pre>"

    def _text(self) -> str:
        """Returns what `qtj report NAME -n NAMESPACE` prints."""
        return study_text(study_content(self._name, *self._load(), separator="-"))

    def _waited(self, timeout: float | None, left: Event) -> StudyPhase | None:
        end = None if timeout is None else time.monotonic() + timeout
        phase = self._read()[1].phase
        while phase not in ENDED:
            if end is not None and time.monotonic() >= end:
                raise NotFinishedError(f"{self._name} has not finished within {timeout:g} s: it goes on")
            if left.wait(PERIOD_SECONDS if end is None else min(PERIOD_SECONDS, max(0.0, end - time.monotonic()))):
                break
            phase = self._phase_again() or phase
        return phase

    def _phase_again(self) -> StudyPhase | None:
        """Returns the phase; None while the API server does not answer: a study outlasts its restart."""
        try:
            found = self._found()
        except InputError:
            return None
        return self._there(found)[1].phase

    def _load(self) -> tuple[StudySpec, StudyStatus]:
        return apart(lambda _: self._read())

    def _read(self) -> tuple[StudySpec, StudyStatus]:
        return self._there(self._found())

    def _found(self) -> tuple[StudySpec, StudyStatus] | None:
        with extra_checked("operator", "a study on a cluster"):
            from qtj.studies.on_cluster import study_on_cluster

        return study_on_cluster(self._name, self._namespace)

    def _there(self, found: tuple[StudySpec, StudyStatus] | None) -> tuple[StudySpec, StudyStatus]:
        if found is None:
            where = f" in namespace {self._namespace}" if self._namespace else ""
            what = f"there is no study {self._name}{where}, or you may not read it"
            raise InputError(f"{what}: `kubectl get qts -A` lists all")
        return found
