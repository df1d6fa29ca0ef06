"""Weights of a user's program that are damaged, or of another program, are refused with a sentence."""

import io
import json
import zipfile
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.program.array_state import ArrayState
from qtj_trainer.stored.artifacts import arrays_from_bytes, arrays_to_bytes

GOOD = ArrayState({"w": np.arange(200.0), "b": np.zeros(2)}).dump()
MEMBER = GOOD.index(b"\x93NUMPY")


def array(values: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, values)
    return file.getvalue()


def archive(**members: bytes) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w") as made:
        for name, data in members.items():
            made.writestr(name, data)
    return file.getvalue()


def refusal(data: bytes, tree: Any = None) -> str:
    here = ArrayState({"w": np.zeros(200), "b": np.zeros(2)} if tree is None else tree)
    with pytest.raises(UserError) as refused:
        here.load(data, otherwise="the weights do not fit")
    return str(refused.value)


def test_good_weights_are_loaded() -> None:
    loaded = ArrayState({"w": np.zeros(200), "b": np.ones(2)}).load(GOOD, otherwise="no")

    assert loaded["w"].tolist() == list(range(200))
    assert loaded["b"].tolist() == [0, 0]


@pytest.mark.parametrize("length", [0, 1, 4, 30, MEMBER, MEMBER + 10, len(GOOD) // 2, len(GOOD) - 1])
def test_weights_that_are_cut_off_are_refused(length: int) -> None:
    sentence = refusal(GOOD[:length])

    assert sentence.startswith("the weights do not fit: ")
    assert "\n" not in sentence


@pytest.mark.parametrize("place", [0, 26, MEMBER, MEMBER + 8, MEMBER + 20, MEMBER + 200, len(GOOD) - 10])
def test_weights_with_a_byte_changed_are_refused(place: int) -> None:
    changed = bytearray(GOOD)
    changed[place] ^= 0x77

    assert refusal(bytes(changed)).startswith("the weights do not fit: it cannot be read as an archive of arrays (")


@pytest.mark.parametrize(
    "data",
    [
        b"PK\x05\x06" + bytes(18),
        b"\x89HDF\r\n\x1a\n" + bytes(100),
        array(np.ones(3)),
        archive(**{"structure.json": b"{}"}),
        archive(**{"structure.json.npy": array(np.array("{"))}),
        archive(**{"structure.json.npy": array(np.array("[]"))}),
        archive(**{"structure.json.npy": array(np.array('{"kind": "dict"}'))}),
        arrays_to_bytes({"w": np.zeros(200), "b": np.zeros(2)}),
    ],
    ids=["empty", "hdf5", "single", "no-numpy", "no-json", "list", "half", "no-structure"],
)
def test_an_archive_of_something_else_is_refused(data: bytes) -> None:
    assert refusal(data).startswith("the weights do not fit: ")


def test_a_pickle_is_never_opened() -> None:
    file = io.BytesIO()
    np.savez(file, w=np.array([print], dtype=object))

    with pytest.raises(ValueError, match="Object arrays cannot be loaded"):
        arrays_from_bytes(file.getvalue())


@pytest.mark.parametrize(
    ("tree", "why"),
    [
        ({"w": np.zeros(200)}, "they have b, which this program does not have"),
        ({"w": np.zeros(200), "b": np.zeros(2), "c": np.zeros(1)}, "they do not have c"),
        ({"w": np.zeros(100), "b": np.zeros(2)}, r"w is float64 (200,) there and float64 (100,) here"),
        ({"w": np.zeros(200, np.float32), "b": np.zeros(2)}, "w is float64 (200,) there and float32 (200,) here"),
    ],
)
def test_weights_of_another_program_are_named_by_what_differs(tree: Any, why: str) -> None:
    assert refusal(GOOD, tree) == f"the weights do not fit: {why}"


def test_an_array_cannot_have_the_name_of_the_structure() -> None:
    with pytest.raises(
        UserError, match=r"^an array of the weights has the reserved name structure\.json: give it another key$"
    ):
        ArrayState({"structure.json": np.zeros(1)}).dump()


def test_weights_say_what_they_are() -> None:
    description = json.loads(str(arrays_from_bytes(GOOD)["structure.json"]))

    assert [key for key, _ in description["items"]] == ["w", "b"]
