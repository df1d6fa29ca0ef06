"""The garbage collector is out of the way while a program starts, and no longer."""

import gc

import pytest

from qtj_trainer.replica.garbage import none_collected


def test_nothing_is_collected_in_the_block_and_later_collections_ignore_its_objects() -> None:
    with none_collected():
        assert not gc.isenabled()
        cycle: list[object] = []
        cycle.append(cycle)

    assert gc.isenabled()
    assert gc.get_freeze_count() > 0
    gc.unfreeze()


def test_a_start_that_fails_leaves_the_collector_on() -> None:
    with pytest.raises(ValueError, match="no start"), none_collected():
        raise ValueError("no start")

    assert gc.isenabled()
    gc.unfreeze()
