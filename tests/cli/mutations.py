"""Job files as hurried people write them: a good one in which some fields are gone, misspelt, or of another type."""

from copy import deepcopy
from pathlib import Path
from typing import Any

import yaml
from hypothesis import strategies as st

from tools.release.version import TRAINER_IMAGE

EXAMPLES = Path(__file__).parents[2] / "examples"

Place = tuple[Any, int | str]
"""An object or a list, and where in it."""

ODD: tuple[Any, ...] = (
    None,
    True,
    -1,
    0,
    1.5,
    10**30,
    float("inf"),
    "",
    "x",
    "A b",
    "a\nb",
    "\x1b[31m",
    "é=\u2028",
    "x" * 300,
    "gs://bucket/x",
    [],
    {},
    [None],
    ["x", 1],
    [[]],
    {"x": None},
    {"a b": {"c": 1}},
    {"name": "x"},
    [{"name": "x"}],
    [{"name": 1}, {"name": "x", "image": "y"}],
)


def examples() -> list[Any]:
    """The jobs of the examples; with an image that is not the trainer's, which would be asked each time."""
    found = []
    for path in sorted(EXAMPLES.glob("*.yaml")):
        text = path.read_text().replace(TRAINER_IMAGE, "registry.example/mine:1")
        found += [each for each in yaml.safe_load_all(text) if each["kind"] == "QuantumTrainingJob"]
    return found


def places(value: Any) -> list[Place]:
    """Returns all places in an object, from the outside in."""
    keys = list(value) if isinstance(value, dict) else list(range(len(value))) if isinstance(value, list) else []
    return [(value, key) for key in keys] + [place for key in keys for place in places(value[key])]


@st.composite
def mutated(draw: st.DrawFn, originals: list[Any]) -> Any:
    """Draws one of the objects, with some mistakes in it."""
    result = deepcopy(draw(st.sampled_from(originals)))
    for _ in range(draw(st.integers(1, 3))):
        found = places(result)
        if found:
            around, key = draw(st.sampled_from(found))
            _mutate(draw, around, key)
    return result


def _mutate(draw: st.DrawFn, around: Any, key: int | str) -> None:
    match draw(st.sampled_from(["drop", "retype", "retype", "misspell", "list", "object", "add"])):
        case "drop":
            del around[key]
        case "retype":
            around[key] = deepcopy(draw(st.sampled_from(ODD)))
        case "misspell" if isinstance(key, str):
            wrong = draw(st.sampled_from([key.lower(), key[:-1], key + "s", key[1:] + key[:1], "zzz", f"{key}_x"]))
            around[wrong] = around.pop(key)
        case "list":
            around[key] = [around[key]]
        case "object":
            around[key] = {"x": around[key]}
        case "add" if isinstance(around, dict):
            added = draw(st.sampled_from(["labels", "env", "template", "status", "1", "on", "a b"]))
            around[added] = deepcopy(draw(st.sampled_from(ODD)))
