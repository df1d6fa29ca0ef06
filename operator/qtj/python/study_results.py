"""What a study has found, wherever it runs."""

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from typing import Any

from qtj.python.table import Table
from qtj.studies.content import study_data
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import SEED
from qtj_operator.api.study_status import StudyStatus

__all__ = ["StudyResults"]


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
