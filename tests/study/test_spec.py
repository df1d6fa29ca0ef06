"""What the model of a study refuses, and in which words."""

import pytest
from pydantic import ValidationError

from qtj_operator.api.reading import faults
from tests.study.studies import study

FINAL = {"seeds": {"count": 2}}


@pytest.mark.parametrize(
    ("fields", "path", "sentence"),
    [
        ({"objective": None}, ("objective",), "this field is missing"),
        ({"parameters": []}, ("parameters",), "this is empty: write something here"),
        ({"seed": 3}, ("seed",), "there is no such field"),
        (
            {"search": {"algorithm": "grid"}},
            ("search", "algorithm"),
            "this has to be Grid, Random, TPE, GP or CMA-ES: write Grid",
        ),
        ({"seeds": {"count": 0}}, ("seeds", "count"), "0 is too small: this has to be at least 1"),
        (
            {"parameters": [{"name": "x"}]},
            ("parameters", 0),
            "the parameter x needs either values or range: write one of the two",
        ),
        ({"parameters": [{"name": "x", "values": []}]}, ("parameters", 0, "values"), "this is empty"),
        (
            {"parameters": [{"name": "x", "values": [1, 2, 1]}]},
            ("parameters", 0),
            "the parameter x has the value 1 twice: remove one",
        ),
        (
            {"parameters": [{"name": "x", "range": {"min": 2, "max": 1}}]},
            ("parameters", 0, "range"),
            "min is 2 and max is 1: max has to be larger",
        ),
        (
            {"parameters": [{"name": "x", "range": {"min": 0, "max": 1, "scale": "Log"}}]},
            ("parameters", 0, "range"),
            "min is 0, and a logarithm needs more than 0",
        ),
        (
            {"parameters": [{"name": "x", "range": {"min": 0.5, "max": 2, "integer": True}}]},
            ("parameters", 0, "range"),
            "min and max have to be whole numbers",
        ),
        (
            {"parameters": [{"name": "x", "range": {"min": "0", "max": 2}}]},
            ("parameters", 0, "range", "min"),
            "this has to be a number, without quotes",
        ),
        (
            {"parameters": [{"name": "a_b", "values": [1]}, {"name": "a-b", "values": [1]}]},
            (),
            "two parameters are the option --a-b of the program: remove one",
        ),
        (
            {"parameters": [{"name": "seed", "values": [1]}]},
            (),
            "seeds sets the seed of each trial: remove seeds, or the parameter seed",
        ),
        ({"final": {}}, ("final", "seeds"), "this field is missing"),
        (
            {"seeds": None, "parameters": [{"name": "seed", "values": [1]}], "final": FINAL},
            (),
            "final sets the seed of each trial: remove final, or the parameter seed",
        ),
        (
            {"final": {**FINAL, "parameters": {"seed": 3}}},
            (),
            "final.parameters has seed, and final.seeds sets it: remove one",
        ),
        (
            {"final": {**FINAL, "parameters": {"learning_rate": 0.3}}},
            (),
            "final.parameters has learning_rate, which is the same option as learning-rate: write learning-rate alone",
        ),
        (
            {"final": {**FINAL, "parameters": {"a-b": 1, "a_b": 2}}},
            (),
            "final.parameters has a_b, which is the same option as a-b: write a-b alone",
        ),
        (
            {"final": {**FINAL, "parameters": {"--epochs": 3}}},
            (),
            "final.parameters has '--epochs', which is no name: write letters, digits, - and _",
        ),
        (
            {"final": {**FINAL, "parameters": {"epochs": None}}},
            ("final", "parameters", "epochs"),
            "this has to be a number, a text, true or false",
        ),
        (
            {"parameters": [{"name": "x", "values": [[1]]}]},
            ("parameters", 0, "values", 0),
            "this has to be a number, a text, true or false",
        ),
    ],
)
def test_a_mistake_is_one_sentence_at_its_field(
    fields: dict[str, object], path: tuple[int | str, ...], sentence: str
) -> None:
    with pytest.raises(ValidationError) as refused:
        study(**fields)

    found = list(faults(refused.value))

    assert [where for where, _ in found] == [path]
    assert found[0][1].startswith(sentence)
