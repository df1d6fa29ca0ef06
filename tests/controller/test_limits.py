"""What is too large about a job, found in its bytes."""

import json
import random
import time
from typing import Any

import pytest

from bench.scale.large_jobs import deep, just_below, large, nested
from qtj_operator.api.limits import BEYOND, MOST_BYTES, MOST_VALUES, RAW_BYTES, beyond, is_decodable
from qtj_operator.cluster.decode import decode, decode_event
from qtj_operator.cluster.scan import fields
from qtj_operator.controller.client import Resource

JOBS = Resource.QUANTUM_TRAINING_JOBS


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (deep("a"), "the job is nested too deeply: use at most 100 levels"),
        (nested(111).encode(), "the job is nested too deeply: use at most 100 levels"),
        (b"[" * 111 + b"]" * 111, "the job is nested too deeply: use at most 100 levels"),
        (
            b'"' + b"x" * MOST_BYTES + b'"',
            "the job has more than the 131,072 bytes as JSON that are read: make it smaller",
        ),
        (b"[" + b"1," * 25_000 + b"1]", "the job has more than the 25,000 values that are read: write fewer"),
    ],
)
def test_what_is_too_large_is_said_in_a_sentence(text: bytes, sentence: str) -> None:
    assert beyond(text) == sentence


@pytest.mark.parametrize("text", [b'"' + b"x" * MOST_BYTES + b'"', b"[" + b"1," * MOST_VALUES + b"1]"])
def test_a_status_that_says_the_sentence_does_not_change_it(text: bytes) -> None:
    sentence = beyond(text) or ""
    assert beyond(b"[" + text + b"," + json.dumps({"message": sentence}).encode() + b"]") == sentence != ""


@pytest.mark.parametrize(
    "text",
    [
        nested(110).encode(),
        b'"' + b"[" * 200 + b'"',
        b'["\\"' + b"{" * 200 + b'\\\\",{}]',
        b'"' + b"," * MOST_VALUES + b'"',
        just_below("a"),
    ],
)
def test_brackets_and_commas_in_strings_count_as_text(text: bytes) -> None:
    json.loads(text)
    assert beyond(text) is None


def test_an_answer_that_breaks_off_within_a_string_of_quotes_is_looked_at_once() -> None:
    begin = time.monotonic()
    assert not is_decodable(b'["' + b'\\"' * (RAW_BYTES // 4))
    assert time.monotonic() - begin < 2


def random_value(draw: random.Random, levels: int) -> Any:
    kind = draw.randrange(7 if levels else 5)
    if kind < 5:
        return (None, True, -1.5e-7, 'a "{\\]}, \u00e9\n', "")[kind]
    size = range(draw.randrange(4))
    if kind == 5:
        return [random_value(draw, levels - 1) for _ in size]
    return {f'{number}"[\\': random_value(draw, levels - 1) for number in size}


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("separators", [(",", ":"), (" , ", " : ")])
def test_the_fields_that_are_wanted_are_found_among_any_others(seed: int, separators: tuple[str, str]) -> None:
    draw = random.Random(seed)
    meta = {"labels": random_value(draw, 9), "name": 'a "name"', "other": random_value(draw, 12)}
    whole = {"a": random_value(draw, 12), "metadata": meta, "z": random_value(draw, 12), "status": {"attempt": 1}}
    listed = json.dumps({"items": [whole, whole], "metadata": {"continue": "x"}}, separators=separators).encode()
    wanted = {"metadata": {"name": None, "absent": None}, "status": None}

    one = {"metadata": {"name": 'a "name"'}, "status": {"attempt": 1}}
    assert fields(listed, {"items": [wanted], "metadata": None}) == {"items": [one, one], "metadata": {"continue": "x"}}


@pytest.mark.parametrize("text", [b"", b"{", b'{"a"', b'{"a":', b'{"metadata":{"name":"x', b"[" * 5000, b'{"a":{[}'])
def test_what_is_no_json_is_an_error_of_the_value(text: bytes) -> None:
    with pytest.raises(ValueError, match="no JSON"):
        fields(text, {"metadata": None})


@pytest.mark.parametrize("text", [deep("a", 9000, uid="1"), large("a", uid="1"), large("a", 90_000, uid="1")])
async def test_of_a_job_that_is_too_large_only_its_identity_is_known_and_the_reason(text: bytes) -> None:
    known = await decode(JOBS, text)

    assert known.pop(BEYOND) == beyond(text)
    assert known.pop("metadata") == {"name": "a", "namespace": "lab", "uid": "1"}
    assert known == {"apiVersion": "quantumtraining.dev/v1beta1", "kind": "QuantumTrainingJob", "spec": {}}


async def test_a_job_whose_record_of_owners_alone_is_too_large_is_read() -> None:
    job = json.loads(just_below("a"))
    text = json.dumps({**job, "metadata": {**job["metadata"], "managedFields": [{"a": "x" * MOST_BYTES}]}}).encode()

    assert beyond(text) is not None
    assert (await decode(JOBS, text))["spec"] == job["spec"]


async def test_the_event_of_a_job_that_is_too_large_has_its_identity() -> None:
    line = b'{"type":"ADDED","object":' + deep("a", uid="1") + b"}"
    event = json.loads(await decode_event(line))

    assert event["type"] == "ADDED"
    assert event["object"]["metadata"]["name"] == "a"
    assert event["object"][BEYOND] == "the job is nested too deeply: use at most 100 levels"
