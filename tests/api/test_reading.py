"""Errors of pydantic get this project's messages: every kind of constraint in the models has a sentence."""

from collections.abc import Iterator
from typing import Any

import pytest
from pydantic import ValidationError

from qtj_operator.api import reading, template
from qtj_operator.api.reading import faults
from qtj_operator.api.spec import Spec
from qtj_operator.api.spelling import meant, nearest
from tests.jobs import a_template, job_object

RAISED_BY = {
    "str": {"string_type"},
    "int": {"int_type"},
    "bool": {"bool_type"},
    "list": {"list_type"},
    "dict": {"dict_type", "string_type"},
    "model": {"model_type"},
    "model-fields": {"missing", "extra_forbidden", "invalid_key", "model_type"},
    "enum": {"enum"},
    "literal": {"literal_error"},
    "min_length": {"string_too_short", "too_short"},
    "max_length": {"string_too_long", "too_long"},
    "pattern": {"string_pattern_mismatch"},
    "ge": {"greater_than_equal"},
    "le": {"less_than_equal"},
    "is-instance": {"mapping_type"},
}
"""What pydantic raises, by the kind of a schema or of its constraint. Rules of ours (`rule`) come from functions."""

SILENT = {
    "any",
    "nullable",
    "default",
    "definitions",
    "definition-ref",
    "function-after",
    "function-before",
    "function-wrap",
    "function-plain",
    "model-field",
    "chain",
    "no-info",
}
CONSTRAINTS = ("min_length", "max_length", "pattern", "ge", "le", "gt", "lt", "multiple_of")


def kinds(schema: Any) -> Iterator[str]:
    """Yields the types and constraints of a schema and of all in it."""
    if isinstance(schema, dict):
        if isinstance(schema.get("type"), str):
            yield schema["type"]
            yield from (name for name in CONSTRAINTS if name in schema)
        for name, value in schema.items():
            if name not in {"metadata", "config", "serialization", "default"}:
                yield from kinds(value)
    elif isinstance(schema, list | tuple):
        for each in schema:
            yield from kinds(each)


@pytest.mark.parametrize("model", [Spec, template.PodTemplate])
def test_every_kind_of_constraint_has_a_sentence_of_ours(model: Any) -> None:
    found = set(kinds(model.__pydantic_core_schema__)) - SILENT

    assert found
    assert found <= set(RAISED_BY), "a new kind: say here what it raises, and give that a sentence"
    for kind in found:
        assert RAISED_BY[kind] <= set(reading.SENTENCES) | reading.CHOICES


def problems_of(spec: Any) -> dict[str, str]:
    with pytest.raises(ValidationError) as refused:
        Spec.read(spec)
    return {reading.dotted(path): what for path, what in faults(refused.value)}


def a_spec(**fields: Any) -> dict[str, Any]:
    spec: dict[str, Any] = job_object(**fields)["spec"]
    return spec


@pytest.mark.parametrize(
    ("fields", "path", "sentence"),
    [
        (
            {"strategy": "Miror"},
            "strategy",
            "this has to be MultiWorkerMirrored, ParameterServer, Mirrored or None: write Mirrored",
        ),
        (
            {"runPolicy": {"cleanPodPolicy": "runing"}},
            "runPolicy.cleanPodPolicy",
            "this has to be Running, All or None: write Running",
        ),
        (
            {"runPolicy": {"failurePolicy": {"rules": [{"action": "Fail", "roles": ["worker"]}]}}},
            "runPolicy.failurePolicy.rules[0].roles[0]",
            "this has to be Chief, Worker, PS or Evaluator: write Worker",
        ),
        ({"artifacts": {"uri": None}}, "artifacts.uri", "this is empty: write something here"),
        ({"artifacts": {}}, "artifacts.uri", "this field is missing"),
        ({"managedBy": "x" * 64}, "managedBy", "this is too long: shorten it to 63 characters"),
        ({"inference": {"args": ["x"] * 300}}, "inference.args", "there are 300 of these, too many: write at most 256"),
        (
            {"runPolicy": {"schedulingPolicy": {"queueName": "a b"}}},
            "runPolicy.schedulingPolicy.queueName",
            "this may hold only letters, digits, -, _ and dots, and has to begin and end with a letter or digit",
        ),
        ({"circuit": {"qubits": 8.5}}, "circuit.qubits", "this has to be a whole number, without quotes"),
        ({"inference": {1: 2}}, "inference[1]", "the name of a field has to be text: put it in quotes"),
        ({"template": a_template(securityContext={1: 2})}, "template.spec.securityContext[1]", reading.TEXT),
        ({"template": a_template(restartPolicy="always")}, "template.spec.restartPolicy", "this has to be Never"),
        (
            {"template": {"spec": {"containers": [{"name": f"c{n}", "image": "x"} for n in range(33)]}}},
            "template.spec.containers",
            "there are 33 of these, too many: write at most 32",
        ),
        ({"replicaSpecs": {}}, "replicaSpecs", "name at least one role: Worker or Chief"),
    ],
)
def test_a_fault_is_reported_in_a_sentence_with_a_remedy(fields: dict[str, Any], path: str, sentence: str) -> None:
    assert problems_of(a_spec(**fields)) == {path: sentence}


FIELDS = ("backoffLimit", "replicaSpecs", "suspend")


@pytest.mark.parametrize("word", ["backofLimit", "backoff_limit", "BACKOFFLIMIT"])
def test_the_nearest_word_is_named_as_it_is_written(word: str) -> None:
    assert nearest(word, FIELDS) == "backoffLimit"
    assert meant(word, FIELDS) == ": write backoffLimit"


@pytest.mark.parametrize("word", ["", "gpu", None, 7, "x" * 1_000_000], ids=lambda word: str(word)[:5])
def test_a_word_that_is_near_to_none_names_none(word: object) -> None:
    assert nearest(word, FIELDS) is None
    assert meant(word, FIELDS) == ""


def test_underscores_do_not_count() -> None:
    assert nearest("__s_u_s_p_e_n_d__", FIELDS) == "suspend"


def test_without_known_words_none_is_near() -> None:
    assert meant("suspend", ()) == ""
