"""Whether a case fits into the memory, before it is started: a process without memory may take others with it."""

from pathlib import Path

from qtj_contract import statevector_bytes
from qtj_contract.quantities import in_words

__all__ = ["available", "too_large"]

STATES = {"ours": 2, "qsim": 1, "tfq": 3, "lightning": 3}
"""Statevectors that an engine holds for all that is asked of it, as far as they are large. Ours holds one more for the
constant beginning of the circuit where there is room."""
_BESIDE = 1 << 30
"""Libraries, tables of pages, and what others on the machine take meanwhile."""


def available(meminfo: Path = Path("/proc/meminfo")) -> int:
    """Returns the bytes that the system can give without swapping."""
    return int(meminfo.read_text().partition("MemAvailable:")[2].split()[0]) << 10


def too_large(engine: str, qubits: int, memory: int) -> str:
    """Returns a sentence if an engine's states of so many qubits do not fit into the memory; "" if they do."""
    needed = STATES[engine] * statevector_bytes(qubits) + _BESIDE
    if needed <= memory:
        return ""
    return (
        f"{qubits} qubits: {engine} is skipped: it needs {in_words(needed)} ({STATES[engine]} states of"
        f" {in_words(statevector_bytes(qubits))}), and {in_words(memory)} are there"
    )
