"""The formula for the memory of a replica, beside what processes really take."""

from dataclasses import replace
from math import ceil

import pytest

from qtj_contract import STATES, statevector_bytes
from qtj_contract.memory import Circuits, memory_of
from qtj_simulator.fused.engine import lanes
from tests.trainer.peak import limited, peak, peaks

MIB = 1 << 20
BYTES_OF_A_NUMBER = 4
FREE = 2048 * MIB
"""The budget: a quarter of it may hold states that wait for their gradient."""


@pytest.mark.parametrize(
    ("engine", "qubits", "filters", "batch", "threads"),
    [
        ("fused", 4, 1, 16, 1),
        ("fused", 16, 8, 64, 2),
        ("tfq", 8, 1, 128, 2),
        *(
            pytest.param(*point, marks=pytest.mark.slow)
            for point in [
                ("fused", 8, 8, 256, 2),
                ("fused", 12, 1, 256, 1),
                ("fused", 12, 8, 256, 2),
                ("fused", 16, 1, 256, 2),
                ("fused", 18, 1, 64, 1),
                ("fused", 18, 8, 16, 2),
                ("fused", 20, 1, 16, 2),
                ("fused", 20, 2, 64, 2),
                ("tfq", 12, 4, 128, 2),
                ("tfq", 16, 1, 64, 2),
            ]
        ),
    ],
)
def test_a_training_needs_the_memory_of_the_formula(
    engine: str, qubits: int, filters: int, batch: int, threads: int
) -> None:
    asked = Circuits(
        qubits=qubits, filters=filters, batch=batch, threads=threads, buffers=1, tfq=engine == "tfq",
        vector_bytes=lanes() * BYTES_OF_A_NUMBER,
    )  # fmt: skip
    rounds = ceil(batch / (0.7 * qubits)) + 1

    ended = peak(
        f"--engine={engine}", f"--qubits={qubits}", f"--filters={filters}", f"--batch-size={batch}",
        f"--rounds={rounds}", threads=threads, free=FREE,
    )  # fmt: skip

    assert ended.code == 0, ended.errors
    memory = memory_of(asked)
    assert ended.private == pytest.approx(memory.least + min(memory.keepable, FREE // 4), rel=0.15)


@pytest.mark.slow
def test_each_of_two_workers_needs_the_memory_of_the_formula() -> None:
    ended = peaks(2, "--qubits=4", "--rounds=2")

    needed = memory_of(Circuits(qubits=4, batch=3, threads=2, buffers=1, replicas=2))
    for each in ended:
        assert each.code == 0, each.errors
        assert 0.9 * needed.most < each.private < 1.05 * needed.most, "TensorFlow's server takes 20 to 45 MiB"


def test_a_process_that_trains_needs_at_least_the_memory_of_the_formula() -> None:
    ended = peak("--qubits=4", "--rounds=2")

    assert ended.code == 0, ended.errors
    assert ended.private == pytest.approx(memory_of(Circuits(qubits=4, batch=6, buffers=1)).least, rel=0.03)


@pytest.mark.parametrize(
    ("limit", "qubits", "batch"), [(640 * MIB, 16, 64), pytest.param(2048 * MIB, 18, 256, marks=pytest.mark.slow)]
)
def test_several_filters_survive_in_a_limit_that_their_states_would_exceed(limit: int, qubits: int, batch: int) -> None:
    kept = memory_of(Circuits(qubits=qubits, filters=8, batch=batch, buffers=1)).keepable

    with limited(limit) as group:
        ended = peak(
            f"--qubits={qubits}", "--filters=8", f"--batch-size={batch}", f"--rounds={ceil(batch / (0.7 * qubits))}",
            group=group,
        )  # fmt: skip

    assert ended.code == 0, ended.errors
    assert kept + 350 * MIB > limit
    assert ended.private < limit


def test_a_training_that_cannot_fit_is_refused_by_the_limit_of_its_group() -> None:
    with limited(300 * MIB) as group:
        ended = peak("--qubits=4", group=group)

    assert ended.code == 1
    assert "this training needs at least 382" in ended.errors
    assert "and 300 MiB are available: raise resources.limits.memory or lower" in ended.errors


@pytest.mark.parametrize("qubits", [4, 18, 19, 24, 40])
def test_at_least_there_are_the_states_of_the_adjoint_method_whatever_the_filters(qubits: int) -> None:
    for filters in (1, 8):
        assert memory_of(Circuits(qubits=qubits, filters=filters)).states == STATES * statevector_bytes(qubits)


def test_threads_that_divide_a_state_need_no_more_of_it() -> None:
    states = [memory_of(Circuits(qubits=20, batch=64, threads=threads)).states for threads in (1, 2, 4)]

    assert states == [3 * 8 * MIB, 3 * 8 * MIB, (1 + 4 * 2) * 8 * MIB]


@pytest.mark.parametrize("qubits", [4, 12, 18, 24])
def test_double_precision_takes_twice_the_memory_for_the_states_of_a_batch(qubits: int) -> None:
    single, double = (memory_of(Circuits(qubits=qubits, batch=64, amplitude_bytes=size)) for size in (8, 16))

    assert double.keepable == 2 * single.keepable
    assert double.program > single.program


@pytest.mark.parametrize("amplitude_bytes", [8, 16])
@pytest.mark.parametrize("vector_bytes", [16, 32])
@pytest.mark.parametrize("qubits", [4, 12, 13, 17, 18, 19, 24])
def test_no_processor_needs_more_memory_than_one_with_the_widest_vectors(
    qubits: int, vector_bytes: int, amplitude_bytes: int
) -> None:
    asked = Circuits(qubits=qubits, batch=64, threads=2, buffers=1, amplitude_bytes=amplitude_bytes)

    widest, narrow = memory_of(asked), memory_of(replace(asked, vector_bytes=vector_bytes))

    assert narrow.least <= widest.least
    assert narrow.most <= widest.most


def test_a_state_that_fits_into_one_tile_only_with_wide_vectors_keeps_fewer_states_with_narrow_ones() -> None:
    asked = Circuits(qubits=18, filters=8, batch=16, threads=2, buffers=1)

    widest, narrow = (memory_of(replace(asked, vector_bytes=size)) for size in (64, 32))

    assert widest.keepable == 2 * narrow.keepable == 512 * MIB
