"""What many wide circuits cost: arithmetic with one measured time, and nothing else."""

_CIRCUITS = 200_000
"""Reports of wide trainings speak of hundreds of thousands, and not of how deep their circuits are."""
_WORKERS = (1, 10, 100)
_HOUR = 3600.0


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
