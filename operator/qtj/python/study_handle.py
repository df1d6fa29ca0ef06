"""What a study has found, wherever it runs, and a study that runs on a cluster."""

import time
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from html import escape
from threading import Event
from typing import Any, Self

from qtj.python.apart import apart
from qtj.python.errors import NotFinishedError, StudyFailedError
from qtj.python.table import Table
from qtj.studies.content import study_content, study_data
from qtj.studies.words import study_text
from qtj.terminal.errors import InputError, extra_checked
from qtj_contract.printable import visible
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import SEED
from qtj_operator.api.study_status import ENDED, StudyPhase, StudyStatus

__all__ = ["PERIOD_SECONDS", "StudyHandle", "StudyResults"]


PERIOD_SECONDS = 5.0


class StudyResults(ABC):
    """Table, best point and trials of a study."""

    @property
    def phase(self) -> str:
        """Running, Complete or Failed, as recorded last."""
        return str(self._load()[1].phase)

    @property
    def best(self) -> Mapping[str, Any] | None:
        """The best point: its parameters, values, mean and margin; None while no point has finished."""
        found = self.data["status"].get("best")
        return None if found is None else dict(found)

    @property
    def final(self) -> Mapping[str, Any] | None:
        """The final training of the best point, as `best`; None without one, and before it may start."""
        found = self.data["status"].get("final")
        return None if found is None else dict(found)

    @property
    def data(self) -> Mapping[str, Any]:
        """What is recorded and what follows from it: `status` has the points, the best one and the comparison."""
        spec, status = self._load()
        return study_data({"status": status.to_dict()}, spec, status)

    def table(self) -> Table:
        """Returns a row for each point, the best first; `pandas.DataFrame(study.table())` takes it."""
        return Table(map(_point_row, self.data["status"]["points"]))

    def trials(self) -> Table:
        """Returns a row for each run, with all that it has reported."""
        return Table(
            {
                "trial": each.number,
                **each.parameters,
                SEED: each.seed,
                **({"final": True} if each.final else {}),
                "phase": str(each.phase),
                **(each.metrics or {}),
                "message": each.message,
            }
            for each in self._load()[1].trials
        )

    @abstractmethod
    def _load(self) -> tuple[StudySpec, StudyStatus]:
        """Returns the study as it is recorded now."""


def _point_row(point: Mapping[str, Any]) -> Mapping[str, Any]:
    numbers: Sequence[float] = [each for each in point["values"] if each is not None]
    return {
        **point["parameters"],
        "runs": len(numbers),
        "failed": point["failed"],
        "mean": point.get("mean"),
        "margin": point.get("margin"),
        "std": point.get("standardDeviation"),
        "min": min(numbers, default=None),
        "max": max(numbers, default=None),
    }


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
