"""`make coverage`: shows what `coverage run` has measured, one line for each package, and fails below the floor.

[tool.coverage] in pyproject.toml says what is measured, in which processes, and how low the total may be.
"""

import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path, PurePath
from tempfile import TemporaryDirectory
from typing import Any

import coverage

Summary = Mapping[str, int]
"""Numbers of one file as coverage.py names them: `num_statements`, `covered_lines`, ..."""


def percent(summaries: Sequence[Summary]) -> float:
    """Returns how many of all statements and branches were run, in per cent; 100 where there are none."""
    all_of = [each["num_statements"] + each.get("num_branches", 0) for each in summaries]
    run = [each["covered_lines"] + each.get("covered_branches", 0) for each in summaries]
    return 100 * sum(run) / sum(all_of) if sum(all_of) else 100.0


def package_of(path: str) -> str:
    """Returns the package of a file, two levels deep: "qtj.local" for operator/qtj/local/store.py."""
    _, *packages = PurePath(path).parts[:-1]
    return ".".join(packages[:2])


def table(files: Mapping[str, Summary]) -> Iterator[str]:
    """Yields one line for each package, and one for all."""
    packages: dict[str, list[Summary]] = {}
    for path, summary in files.items():
        packages.setdefault(package_of(path), []).append(summary)
    yield f"{'package':30} {'statements':>10} {'covered':>8}"
    for name, summaries in [*sorted(packages.items()), ("all", list(files.values()))]:
        statements = sum(each["num_statements"] for each in summaries)
        yield f"{name:30} {statements:10} {percent(summaries):7.1f}%"


def measured(data: coverage.Coverage) -> dict[str, Summary]:
    """Puts together what all processes have measured, and returns the numbers of each file."""
    data.combine()
    with TemporaryDirectory() as folder:
        report = Path(folder) / "coverage.json"
        data.json_report(outfile=str(report))
        files: dict[str, Any] = json.loads(report.read_text())["files"]
    return {path: file["summary"] for path, file in files.items()}


def main() -> int:
    """Prints the table and returns the exit code."""
    data = coverage.Coverage()
    files = measured(data)
    print("\n".join(table(files)))
    floor, total = float(str(data.get_option("report:fail_under") or 0)), percent(list(files.values()))
    if total < floor:
        print(f"the coverage is {total:.1f}%, and the floor in pyproject.toml is {floor:.0f}%: test what is new")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
