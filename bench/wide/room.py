"""What wide circuits need: whether a case fits into the memory, before it is started, and what many of them cost.

A process without memory may take others with it.
"""

from pathlib import Path

from qtj_contract import statevector_bytes
from qtj_contract.quantities import in_words

STATES = {
    "ours": {"values": 1, "gradient": 2},
    "tfq": {"values": 2, "gradient": 3},
    "qsim": {"values": 1},
    "lightning": {"values": 2, "gradient": 3},
}
"""What each engine can compute, and the statevectors that it holds for that. Ours holds one more for the constant
beginning of the circuit where there is room."""
_BESIDE = 1 << 30
"""Libraries, tables of pages, and what others on the machine take meanwhile."""

_CIRCUITS = 200_000
"""Reports of wide trainings speak of hundreds of thousands, and not of how deep their circuits are."""
_WORKERS = (1, 10, 100)
_HOUR = 3600.0


def available(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Returns the bytes that the system can give without swapping."""
    return int(meminfo.read_text().partition("MemAvailable:")[2].split()[0]) << 10


def too_large(engine: str, what: str, qubits: int, memory: int) -> str:
    """Returns a sentence if an engine's states of so many qubits do not fit into the memory; "" if they do."""
    states, state = STATES[engine][what], statevector_bytes(qubits)
    needed = states * state + _BESIDE
    if needed <= memory:
        return ""
    return (
        f"{qubits} qubits: {what} of {engine} is skipped: it needs {in_words(needed)}, {states} times"
        f" {in_words(state)} for states among it, and {in_words(memory)} are there"
    )


def cost_of_many(what: str, qubits: int, layers: int, seconds: float, circuits: int = _CIRCUITS) -> str:
    """Returns the sentence for one machine's time of one circuit.

    Args:
        what: "values" or "gradient".
        qubits: Of the circuit.
        layers: Of the circuit.
        seconds: How long one takes on one machine.
        circuits: How many there are.
    """
    hours = circuits * seconds / _HOUR
    each = ", ".join(f"{hours / workers:,.1f} h on {workers}" for workers in _WORKERS)
    return (
        f"arithmetic, not measured: {circuits:,} times the {what} of {qubits} qubits (layers: {layers}) at"
        f" {seconds:.3g} s is {hours:,.0f} machine hours: {each} workers, each a machine like this one, without starts,"
        " exchanges and waits"
    )
