"""Files of a user's own examples: what is read from them, and the sentence for each way to be wrong."""

import io
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from qtj_trainer.errors import UserError
from qtj_trainer.storage import read_uri
from qtj_trainer.workloads.own_data import own_data, split_rows

ANGLES = np.array([[0.1, 0.2, 0.3, 0.4], [-1, 0, 1, 2], [0, 0, 0, 3], [3, 2, 1, 0]])
LABELS = np.array([1, -1, 1, -1])
ROWS = [",".join(map(str, [*angles, label])) for angles, label in zip(ANGLES, LABELS, strict=True)]


def npz(**arrays: Any) -> bytes:
    file = io.BytesIO()
    np.savez(file, **arrays)
    return file.getvalue()


def npy(array: Any) -> bytes:
    file = io.BytesIO()
    np.save(file, array)
    return file.getvalue()


def csv(*rows: str) -> bytes:
    return "\n".join(rows).encode()


def changed(array: Any, place: Any, value: float) -> Any:
    array = array.astype(float)
    array[place] = value
    return array


def written(folder: Path, name: str, data: bytes) -> str:
    path = folder / name
    path.write_bytes(data)
    return str(path)


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("plain.npz", npz(angles=ANGLES, labels=LABELS)),
        ("single precision.npz", npz(angles=ANGLES.astype(np.float32), labels=LABELS.astype(np.float16))),
        ("zero and one.npz", npz(angles=ANGLES, labels=LABELS > 0)),
        ("others beside.NPZ", npz(angles=ANGLES, labels=LABELS, names=np.array(["a"]))),
        ("no header.csv", csv(*ROWS)),
        ("header.csv", csv("a,b,c,d,class", *ROWS)),
        ("blank lines.CSV", csv("", *ROWS[:2], " , ,", *ROWS[2:], "")),
        ("windows.csv", b"\xef\xbb\xbf" + "\r\n".join(["a,b,c,d,Label", *ROWS]).encode()),
        ("pandas.csv", csv("0,1,2,3,label", *ROWS)),
        ("label first.csv", csv("label,0,1,2,3", *(f"{r.rpartition(',')[2]},{r.rpartition(',')[0]}" for r in ROWS))),
        ("quoted.csv", csv('"a","b","c","d","e"', *('"' + row.replace(",", '","') + '"' for row in ROWS))),
    ],
)  # fmt: skip
def test_angles_and_labels_are_read(tmp_path: Path, name: str, data: bytes) -> None:
    read = own_data(written(tmp_path, name, data))

    np.testing.assert_array_equal(read.angles, ANGLES.astype(np.float32))
    np.testing.assert_array_equal(read.labels, LABELS)
    assert {read.angles.dtype, read.labels.dtype} == {np.dtype(np.float32)}


NPZ = "it must hold the arrays angles and labels, as numpy.savez writes them"
CSV = "it must be text in UTF-8, with a row of numbers for each example, separated by commas"
LABELLED = "all must be -1 or 1, or all 0 or 1"
TWICE = "it must have 2 at least, one for training and one for the held-out set"
FINITE = "it must be a finite number of radians, in single precision"


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"no archive", f" cannot be read .*: {NPZ}"),
        (npz(angles=ANGLES, labels=LABELS)[:-30], f" cannot be read .*: {NPZ}"),
        (b"", f" cannot be read .*: {NPZ}"),
        (npy(ANGLES), f" is a single array: {NPZ}"),
        (npz(x=ANGLES, labels=LABELS), f" holds x, labels: {NPZ}"),
        (npz(angles=ANGLES, labels=np.array([None] * 4)), f" cannot be read .*: {NPZ}"),
        (npz(angles=ANGLES[0], labels=LABELS), r" has angles of shape \(4,\) and labels of shape \(4,\): they must be"),
        (
            npz(angles=ANGLES, labels=LABELS[:3]),
            r" has .* labels of shape \(3,\): they must be \(examples, qubits\) and",
        ),
        (npz(angles=ANGLES, labels=[LABELS]), r" has .* labels of shape \(1, 4\): they must be"),
        (npz(angles=ANGLES * 1j, labels=LABELS), " has angles of type complex128: they must be real numbers"),
        (npz(angles=ANGLES, labels=LABELS.astype(str)), " has labels of type <U21: they must be real numbers"),
        (
            npz(angles=ANGLES[:, :3], labels=LABELS),
            " has 3 angles in each example, one for each qubit: it must be",
        ),
        (npz(angles=np.zeros((4, 41)), labels=LABELS), " has 41 angles in .* must be at least 4 and at most 40"),
        (npz(angles=changed(ANGLES, (2, 1), np.nan), labels=LABELS), rf", row 2 \(.* 0\) has nan as angle 2: {FINITE}"),
        (
            npz(angles=changed(ANGLES, (3, 3), 1e39), labels=LABELS),
            rf", row 3 .* has 1e\+39 as angle 4: {FINITE}",
        ),
        (npz(angles=ANGLES, labels=changed(LABELS, 1, 2)), f", row 1 .* has the label 2: {LABELLED}"),
        (npz(angles=ANGLES, labels=changed(LABELS, 0, 0)), f", row 0 .* has the label 0: {LABELLED}"),
        (npz(angles=ANGLES, labels=changed(LABELS, 3, np.nan)), f", row 3 .* has the label nan: {LABELLED}"),
        (npz(angles=ANGLES, labels=LABELS * 0 + 1), f" has 0 examples with the label 0: {TWICE}"),
        (npz(angles=ANGLES, labels=[1, 1, 1, -1]), f" has 1 example with the label -1: {TWICE}"),
        (npz(angles=ANGLES[:0], labels=LABELS[:0]), f" has 0 examples with the label 0: {TWICE}"),
    ],
)
def test_what_is_wrong_with_an_archive_is_one_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    refused(written(tmp_path, "a.npz", data), sentence)


@pytest.mark.parametrize(
    ("data", "sentence"),
    [
        (b"", f" is empty: {CSV}"),
        (csv("a,b,c,d,label"), f" has 0 examples with the label 0: {TWICE}"),
        (b"\xff\xfe0\x00", f" cannot be read .*utf-8.*: {CSV}"),
        (csv(*ROWS, '1,"2,3'), f" cannot be read .*: {CSV}"),
        (csv(*(row.replace(",", ";") for row in ROWS)), f" has a single column: {CSV}"),
        (csv(*ROWS, "1,2,3"), ", line 5 has 3 columns and the first row has 5: all rows must have the same number"),
        (csv("x,b,c,d,1", *ROWS), ", line 1 has 'x' in column 1: it must be a number"),
        (csv("a,b,c,d,e", *ROWS, "1,2,,4,1"), ", line 6 has '' in column 3: it must be a number"),
        (csv(*ROWS[:2], "", "1,2,3,inf,1", *ROWS[2:]), f", line 4 has inf as angle 4: {FINITE}"),
        (csv(*ROWS, "1,2,3,4,5"), f", line 5 has the label 5: {LABELLED}"),
        (
            csv("a,ID,c,d,label", *ROWS),
            " has a column called 'id', and each column but the label's is an angle: leave out a column of row",
        ),
        (csv("index,b,c,d,e", *ROWS), " has a column called 'index', and each"),
        (csv("Unnamed: 0,b,c,d,label", *ROWS), " has a column called 'unnamed: 0', and each"),
        (
            csv(",a,b,c,d,label", *ROWS),
            " has no name for column 1 in its header: name it, or leave out a column",
        ),
        (csv("label,a,b,c,label", *ROWS), " has several columns called 'label': keep one"),
    ],
)
def test_what_is_wrong_with_a_table_is_one_sentence(tmp_path: Path, data: bytes, sentence: str) -> None:
    refused(written(tmp_path, "a.csv", data), sentence)


def refused(uri: str, sentence: str) -> None:
    with pytest.raises(UserError) as refused:
        own_data(uri)

    assert re.match(f"{re.escape(uri)}{sentence}", str(refused.value)), refused.value
    assert "\n" not in str(refused.value)


def test_a_file_that_is_not_there_is_named() -> None:
    with pytest.raises(UserError, match=r"^--data nowhere/a\.csv does not exist: name a file that"):
        own_data("nowhere/a.csv")


def test_a_file_in_the_root_folder_is_found() -> None:
    with pytest.raises(UserError, match=r"^file:///nowhere-at-all\.npz does not exist"):
        read_uri("/nowhere-at-all.npz")


def test_each_class_is_split_only_by_the_seed() -> None:
    labels = np.repeat([-1, 1], [10, 20]).astype(np.float32)

    first, again, other = (split_rows(labels, 0.7, seed) for seed in (1, 1, 2))

    assert [[np.sum(labels[rows] == label) for rows in first] for label in (-1, 1)] == [[7, 3], [14, 6]]
    assert sorted(np.concatenate(first)) == list(range(30))
    np.testing.assert_array_equal(first[1], again[1])
    assert not np.array_equal(first[1], other[1])


def test_two_examples_of_a_class_go_one_to_each_part() -> None:
    training, held_out = split_rows(np.array([1, -1, 1, -1], np.float32), 0.7, 0)

    assert (len(training), len(held_out)) == (2, 2)
