"""The contract between the operator and a training program, and formulas that both use (quantities, memory, limits).

The operator writes environment variables into each replica and reads back three things: the exit code, the
termination message and the progress endpoint. Both sides import their half from here, so they cannot differ. The
package needs only the standard library, because the trainer's image has no Kubernetes code.

A program that only reads ``TF_CONFIG``, without this package, works too. Its weights are those that the spec names.
"""

from qtj_contract.captures import MOST_CAPTURES, Capture, CaptureRecord, parse_captures
from qtj_contract.exit_codes import EXIT_RETRY, is_retryable
from qtj_contract.heartbeat import Heartbeat, StepTimes, progress_deadline
from qtj_contract.memory import MAX_QUBITS, MIN_QUBITS, STATES, statevector_bytes
from qtj_contract.printable import printable
from qtj_contract.profile_request import PROFILE_PATH, ProfileSchedule, parse_request, request_body
from qtj_contract.progress import PROGRESS_LIMIT, PROGRESS_PATH, Progress, activity_in, named_numbers
from qtj_contract.termination import (
    TERMINATION_MESSAGE_LIMIT,
    TERMINATION_MESSAGE_PATH,
    TerminationMessage,
    Weights,
    message_limit,
)
from qtj_contract.variables import SAME_SPEC_ID, TRACKING, Env

__all__ = [
    "EXIT_RETRY",
    "MAX_QUBITS",
    "MIN_QUBITS",
    "MOST_CAPTURES",
    "PROFILE_PATH",
    "PROGRESS_LIMIT",
    "PROGRESS_PATH",
    "SAME_SPEC_ID",
    "STATES",
    "TERMINATION_MESSAGE_LIMIT",
    "TERMINATION_MESSAGE_PATH",
    "TRACKING",
    "Capture",
    "CaptureRecord",
    "Env",
    "Heartbeat",
    "ProfileSchedule",
    "Progress",
    "StepTimes",
    "TerminationMessage",
    "Weights",
    "activity_in",
    "is_retryable",
    "message_limit",
    "named_numbers",
    "parse_captures",
    "parse_request",
    "printable",
    "progress_deadline",
    "request_body",
    "statevector_bytes",
]
