"""How much memory a circuit needs, and what a limit allows."""

import pytest

from qtj_contract.quantities import bytes_of, in_words
from qtj_operator.api.memory import state_bytes
from qtj_operator.api.spec import Circuit


@pytest.mark.parametrize(
    ("quantity", "count"),
    [
        ("1024", 1024),
        (2048, 2048),
        ("16Gi", 16 * 1024**3),
        ("1.5Gi", 3 * 1024**3 // 2),
        ("500M", 500_000_000),
        ("64k", 64_000),
        ("2500m", 2),
        ("1e3", 1000),
        ("1E", 10**18),
    ],
)
def test_a_quantity_means_so_many_bytes(quantity: object, count: int) -> None:
    assert bytes_of(quantity) == count


@pytest.mark.parametrize("quantity", ["", "much", "16 GB", "Gi", "NaN", "Infinity", None, [], {}])
def test_what_is_no_quantity_means_nothing(quantity: object) -> None:
    assert bytes_of(quantity) is None


def test_a_statevector_has_an_amplitude_for_each_bit_string() -> None:
    assert state_bytes(Circuit(qubits=20)) == 8 * 2**20
    assert state_bytes(Circuit.model_validate({"qubits": 20, "precision": "double"})) == 16 * 2**20


@pytest.mark.parametrize(
    ("count", "words"),
    [
        (0, "0 bytes"),
        (1023, "1023 bytes"),
        (1024, "1 KiB"),
        (1024**3 // 2, "512 MiB"),
        (24 * 1024**3, "24 GiB"),
        (1024**3 * 1023, "1023 GiB"),
        (2 * 1024**5, "2 PiB"),
        (5000 * 1024**5, "5000 PiB"),
    ],
)
def test_bytes_are_written_for_people(count: int, words: str) -> None:
    assert in_words(count) == words
