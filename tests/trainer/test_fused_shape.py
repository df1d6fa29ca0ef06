"""How a state lies in memory, by the numbers of qubits, lanes and examples; and the passes that follow from it."""

from dataclasses import dataclass

import pytest

from qtj_contract.memory import EXAMPLES_IN_LANES, TILE_BITS
from qtj_simulator.fused.schedule import Layout, Pass, schedule
from qtj_simulator.fused.shape import Shape, Tuning, shape_for, tunings_for


@dataclass(frozen=True, eq=False)
class Node:
    """Something that is done on two qubits."""

    qubits: tuple[int, int]


def passes(edges: list[tuple[int, int]], shape: Shape) -> list[Pass[Node]]:
    return schedule([], [Node(edge) for edge in edges], shape)[1]


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_few_qubits_have_examples_in_the_lanes_if_these_fill_them(lanes: int) -> None:
    def lane_bits(batch: int | None) -> int:
        return shape_for(EXAMPLES_IN_LANES, Tuning(lanes, batch=batch)).lane_bits

    assert lane_bits(None) == lane_bits(lanes) == 0
    assert lane_bits(lanes * 3 // 4) == 0, "three quarters are enough"
    assert lane_bits(lanes * 3 // 4 - 1) == lane_bits(1) == lanes.bit_length() - 1
    assert lane_bits(lanes + 1) == lanes.bit_length() - 1, "two turns, of which one is nearly empty"


def test_many_qubits_are_in_the_lanes_themselves() -> None:
    shape = shape_for(EXAMPLES_IN_LANES + 1, Tuning(16))

    assert (shape.lane_bits, shape.qubits) == (4, EXAMPLES_IN_LANES + 1)


@pytest.mark.parametrize("lanes", [4, 8, 16])
def test_a_state_that_is_smaller_than_a_vector_has_examples_in_the_lanes(lanes: int) -> None:
    least = lanes.bit_length() - 1 + 2

    assert shape_for(least - 1, Tuning(lanes, batch=1)) == Shape(0, least - 1, least - 1)
    assert shape_for(least, Tuning(lanes, batch=1)).lane_bits == lanes.bit_length() - 1
    assert shape_for(least - 1, Tuning(lanes, examples_in_lanes=False)).lane_bits == 0


@pytest.mark.parametrize(("asked", "lane_bits"), [(True, 0), (False, 4)])
def test_what_the_lanes_hold_can_be_chosen(asked: bool, lane_bits: int) -> None:
    assert shape_for(10, Tuning(16, batch=1, examples_in_lanes=asked)).lane_bits == lane_bits
    assert shape_for(10, Tuning(16, batch=64, examples_in_lanes=asked)).lane_bits == lane_bits


def test_a_state_with_examples_in_the_lanes_is_one_tile() -> None:
    assert shape_for(8, Tuning(16, tile_bits=3)) == Shape(0, 8, 8)
    assert shape_for(8, Tuning(16, tile_bits=3)).is_whole


def test_a_large_state_has_tiles_of_the_size_of_the_cache() -> None:
    small, large = (shape_for(4 + TILE_BITS + more, Tuning(16, examples_in_lanes=False)) for more in (0, 1))

    assert (small.tile_bits, small.is_whole) == (TILE_BITS, True)
    assert (large.tile_bits, large.is_whole) == (TILE_BITS, False)
    assert large.tile_qubits == TILE_BITS + 4


@pytest.mark.parametrize(("lanes", "most"), [(4, 32), (8, 33), (16, 34)])
def test_more_qubits_than_vectors_can_be_numbered_for_are_refused(lanes: int, most: int) -> None:
    assert shape_for(most, Tuning(lanes)).qubits == most
    with pytest.raises(ValueError, match=f"^{most + 1} qubits are too many .*, which takes {most} at most here$"):
        shape_for(most + 1, Tuning(lanes))


@pytest.mark.parametrize(("bits", "every"), [(32, (4, 8, 16)), (64, (2, 4, 8))])
@pytest.mark.parametrize("qubits", [2, 5, 6, 8, 20, 32, 33, 34])
def test_every_shape_that_may_be_asked_for_has_a_tuning_of_its_own(
    qubits: int, bits: int, every: tuple[int, ...]
) -> None:
    tunings = tunings_for(qubits, bits)

    assert tunings or qubits > 33
    assert all(shape_for(qubits, tuning) == shape for shape, tuning in tunings.items())
    for lanes in every:
        for batch in (None, 1, 3, 16, 1000):
            if qubits - (lanes.bit_length() - 1) <= 30:
                assert shape_for(qubits, Tuning(lanes, batch=batch)) in tunings


def test_no_shape_is_possible_beyond_the_largest() -> None:
    assert tunings_for(35) == {}


@pytest.mark.parametrize("lane", [0, 1])
def test_a_layout_that_is_swapped_has_both_qubits_in_each_others_place(lane: int) -> None:
    layout = Layout((5, 6), (0, 1, 2))

    swapped = layout.swapped(lane, 2)

    assert swapped.lanes[lane] == 2
    assert swapped.vector == (0, 1, layout.lanes[lane])
    assert swapped.swapped(lane, 2) == layout


def test_without_any_work_there_is_one_empty_pass() -> None:
    [only] = passes([], Shape(2, 6, 3))

    assert (only.nodes, only.swaps) == ((), ())


def test_work_within_one_tile_is_one_pass() -> None:
    edges = [(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)]

    [only] = passes(edges, Shape(2, 6, 3))

    assert [node.qubits for node in only.nodes] == edges
    assert {*only.layout.lanes, *only.tile_qubits} == set(range(5))


CROSSED = [(0, 9), (1, 8), (2, 7), (3, 6), (4, 5), (0, 5), (9, 4)]


def test_the_same_work_has_the_same_passes() -> None:
    def plain(found: list[Pass[Node]]) -> list[object]:
        return [([node.qubits for node in each.nodes], each.layout, each.tile, each.swaps) for each in found]

    assert plain(passes(CROSSED * 3, Shape(2, 8, 3))) == plain(passes(CROSSED * 3, Shape(2, 8, 3)))
