"""What a replica tells of its last step."""

import json

import pytest

from qtj_contract import Heartbeat, progress_deadline


def test_what_is_written_beside_the_progress_is_read_again() -> None:
    beat = Heartbeat(step=40, age=61.5, place="train.py:12 in exchange")

    assert Heartbeat.parse(json.dumps({"epoch": 1, "step": 40, **beat.to_dict()})) == beat


def test_outside_of_steps_there_is_no_age() -> None:
    assert Heartbeat(step=40, place="train.py:12 in exchange").to_dict() == {}
    assert Heartbeat.parse('{"epoch": 1, "step": 40}') == Heartbeat(step=40)


@pytest.mark.parametrize("answer", ["", "no JSON", "[]", '{"step": 4}', '{"epoch": "x"}'])
def test_other_text_is_none(answer: str) -> None:
    assert Heartbeat.parse(answer) is None


def test_what_cannot_be_read_counts_as_unknown() -> None:
    answer = {"epoch": 1, "step": "x", "stepAge": "soon", "place": "a\n" + "b" * 500}

    beat = Heartbeat.parse(json.dumps(answer))

    assert beat is not None
    assert (beat.step, beat.age, len(beat.place), "\n" in beat.place) == (None, None, 120, False)
    assert Heartbeat.parse('{"epoch": 1, "stepAge": -3}') == Heartbeat(age=0.0)


@pytest.mark.parametrize(("text", "seconds"), [("60", 60), ("", None), (None, None), ("0", None), ("soon", None)])
def test_the_deadline_in_the_environment(text: str | None, seconds: float | None) -> None:
    assert progress_deadline(text) == seconds
