"""The end of inference: its metrics, or why there are none."""

from qtj_contract import Env, TerminationMessage
from qtj_contract.digits import in_digits
from qtj_operator.api import conditions
from qtj_operator.api.conditions import Fact, Reason
from qtj_operator.api.status import InferencePhase, InferenceStatus
from qtj_operator.core.change import KEEP, StatusChange
from qtj_operator.core.decision import Move
from qtj_operator.core.inference_run import InferenceRun

__all__ = ["inference_complete", "inference_done", "inference_failed"]

_NO_METRICS = "its program reported no metrics: they are in its log, or use Program.report to have them here"
_CUT = "its termination message was cut"


def inference_done(known: InferenceStatus, current: InferenceRun) -> Move:
    """Completes the job with what the program reported."""
    message = (current.result.message if current.result else None) or TerminationMessage()
    status = InferenceStatus(
        phase=InferencePhase.COMPLETE,
        run=known.run,
        metrics=dict(message.metrics) or None,
        result=message.result,
        restarts=known.restarts,
    )
    change = StatusChange(inference=status, report=message.report or KEEP)
    return Move(change, conditions=(inference_complete(status, is_cut=message.is_cut),))


def inference_complete(result: InferenceStatus, *, is_cut: bool = False) -> Fact:
    """Returns that the job is complete, with its metrics, or why there are none."""
    metrics = sorted((result.metrics or {}).items())
    shown = ", ".join(f"{name} {in_digits(value)}" for name, value in metrics)
    if is_cut:
        shown = f"{_CUT}, and {_where(result)}"
    return conditions.complete(Reason.INFERENCE_DONE, f"inference is done: {shown or _NO_METRICS}")


def _where(result: InferenceStatus) -> str:
    """Returns where metrics are that a message has lost, or how to keep them."""
    if result.result:
        return f"all metrics are in {result.result}"
    return f"its metrics are lost: write at most ${Env.TERMINATION_LIMIT} bytes"


def inference_failed(why: str, known: InferenceStatus) -> Move:
    """Fails the job."""
    status = InferenceStatus(phase=InferencePhase.FAILED, run=known.run, restarts=known.restarts)
    return Move(StatusChange(inference=status), conditions=(conditions.failed(Reason.INFERENCE_FAILED, why),))
