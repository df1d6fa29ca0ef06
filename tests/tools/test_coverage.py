"""The table of `make coverage`."""

import pytest

from tools.coverage.__main__ import package_of, percent, table


def summary(statements: int, lines: int, branches: int = 0, taken: int = 0) -> dict[str, int]:
    return {
        "num_statements": statements,
        "covered_lines": lines,
        "num_branches": branches,
        "covered_branches": taken,
    }


@pytest.mark.parametrize(
    ("path", "package"),
    [
        ("operator/qtj/local/store.py", "qtj.local"),
        ("operator/qtj/control.py", "qtj"),
        ("trainer/qtj_simulator/fused/plan.py", "qtj_simulator.fused"),
    ],
)
def test_a_file_counts_for_its_package(path: str, package: str) -> None:
    assert package_of(path) == package


def test_branches_count_as_statements_do() -> None:
    assert percent([summary(6, 5, branches=4, taken=1), summary(10, 4)]) == 50


def test_a_package_without_statements_is_covered() -> None:
    assert percent([summary(0, 0)]) == 100


def test_the_table_has_a_line_for_each_package_and_one_for_all() -> None:
    files = {
        "trainer/qtj_trainer/arrays/tree.py": summary(10, 10),
        "operator/qtj/local/store.py": summary(20, 10),
        "operator/qtj/local/client.py": summary(10, 5),
    }

    _, *lines = table(files)

    assert [line.split() for line in lines] == [
        ["qtj.local", "30", "50.0%"],
        ["qtj_trainer.arrays", "10", "100.0%"],
        ["all", "40", "62.5%"],
    ]
