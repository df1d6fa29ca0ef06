"""Studies and trials that read aloud."""

from typing import Any

from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_parameters import Value
from qtj_operator.api.study_status import TrialPhase, TrialStatus

RATES = [{"name": "learning-rate", "values": [0.01, 0.1]}]


def study(**fields: Any) -> StudySpec:
    """Two learning rates with two seeds, unless the fields say otherwise."""
    spec = {"jobTemplate": {}, "parameters": RATES, "seeds": {"count": 2}, "objective": {"metric": "mse"}, **fields}
    return StudySpec.read({name: value for name, value in spec.items() if value is not None})


def trial(
    number: int, rate: Value = 0.01, seed: int | None = 0, *, mse: float | None = None, failed: str | None = None
) -> TrialStatus:
    """A trial: complete with an mse, failed with a reason, or else running."""
    phase = TrialPhase.FAILED if failed else TrialPhase.RUNNING if mse is None else TrialPhase.COMPLETE
    metrics = None if mse is None else {"mse": mse}
    return TrialStatus(
        number=number, parameters={"learning-rate": rate}, seed=seed, phase=phase, metrics=metrics, message=failed
    )
