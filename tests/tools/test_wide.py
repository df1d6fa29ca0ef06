"""`make bench-wide`: what does not fit is skipped with a sentence, ratios are to our engine, and sums are right."""

from argparse import Namespace
from collections.abc import Iterator

import pytest

from bench.wide import __main__ as wide
from bench.wide.chain import Chain
from bench.wide.room import cost_of_many, too_large

CHAIN = Chain(20, 10)


def row(engine: str, seconds: float) -> wide.Row:
    """A line of the table, with the result 1."""
    figures = {"seconds": seconds, "processor": seconds, "first": seconds, "mib": 1}
    return {"engine": engine, "qubits": 20, "layers": 10, "what": "values", "result": [1.0], **figures}


FAILED: wide.Row = {"engine": "ours", "qubits": 20, "layers": 10, "problem": "ended with -9"}


def printed(ours: wide.Row, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> list[str]:
    """Returns the lines of a case in which our engine has a row, and two others have values."""
    found = {"ours": [ours], "tfq": [row("tfq", 6.0)], "qsim": [row("qsim", 4.0)]}

    def rows(engine: str, *_: object) -> Iterator[wide.Row]:
        yield from found[engine]

    monkeypatch.setattr(wide, "rows", rows)
    assert len(list(wide.measure(CHAIN, Namespace(engines=list(found), memory=1 << 40)))) == 3
    return capsys.readouterr().out.splitlines()


def test_ratios_are_to_our_engine(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    lines = printed(row("ours", 2.0), monkeypatch, capsys)

    assert [line.rpartition("  ")[2] for line in lines if " qubits " in line] == ["x1.0", "x3.0", "x2.0"]
    assert sum("differs by 0e+00" in line for line in lines) == 2


def test_without_a_result_of_our_engine_there_are_no_ratios(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = printed(FAILED, monkeypatch, capsys)

    assert [line.rpartition("  ")[2].strip() for line in lines] == ["ended with -9", "1 MiB", "1 MiB"]


def test_a_case_that_does_not_fit_says_what_it_needs() -> None:
    state = 8 << 30  # 2^30 amplitudes of 8 bytes

    assert too_large("ours", "gradient", 30, 2 * state + (1 << 30)) == ""
    assert too_large("ours", "gradient", 30, 2 * state) == (
        "30 qubits: gradient of ours is skipped: it needs 17 GiB, 2 times 8 GiB for states among it, and 16 GiB are"
        " there"
    )


def test_the_cost_of_many_is_that_of_one_times_their_number() -> None:
    found = cost_of_many("gradient", 28, 2, 36.0, circuits=1000)

    assert "1,000 times the gradient of 28 qubits (layers: 2) at 36 s is 10 machine hours" in found
    assert "10.0 h on 1, 1.0 h on 10, 0.1 h on 100 workers" in found
