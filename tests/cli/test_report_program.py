"""What a report shows of the user's own program: its arguments and text, and how two runs differ."""

import hashlib
import json
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

from qtj.report.report import differences
from qtj_contract.origin import Origin
from qtj_contract.program_source import ProgramSource
from qtj_contract.stored_source import stored_files
from qtj_report.artifacts import with_programs
from qtj_report.comparison_page import comparison_page
from qtj_report.content import Content, Repetition, TrainingRecord
from qtj_report.page import run_page
from tests.cli.left import Left
from tests.cli.qtj import qtj

NOW = datetime(2026, 11, 23, 12, tzinfo=UTC)
UNKNOWN = Origin()
BEFORE = Origin(commit="3f2a", machine="Xeon", versions={"numpy": "1.26.4", "scipy": "1.11"})
NEXT = Origin(commit="91c0", machine="Xeon", versions={"numpy": "2.0.1", "scipy": "1.11"})


def source(text: str = "RATE = 0.1\n", *arguments: str) -> ProgramSource:
    return ProgramSource(script="iris.py", code={"iris.py": text}, data={}, arguments=arguments)


def content(title: str, *programs: ProgramSource, origin: Origin = UNKNOWN) -> Content:
    again = Repetition("iris.yaml", "qtj run iris.yaml", "kind: QuantumTrainingJob")
    named = dict(zip(["iris.py"], programs, strict=False))
    return Content(title=title, phase="Complete", headline="done", programs=named, repetition=again, origin=origin)


def test_the_page_has_the_arguments_and_the_folded_text() -> None:
    page = run_page(content("iris/1", source("RATE = 0.1 < 1\n", "--seed", "0")), NOW)

    assert "<dt>iris.py</dt><dd>--seed 0</dd>" in page
    assert "<details><summary>iris.py</summary>" in page
    assert "RATE = 0.1 &lt; 1" in page
    assert "and run it with the program above." in page
    assert "Not recorded: its git commit, versions." in page


def test_the_page_has_where_the_program_comes_from_and_repeats_it_with_that() -> None:
    origin = Origin(commit="3f2a91c0 with changes in 2 files", machine="Xeon, 8 CPUs", versions={"python": "3.11.2"})

    page = run_page(content("iris/1", source(), origin=origin), NOW)

    assert "<dt>git commit</dt><dd>3f2a91c0 with changes in 2 files</dd>" in page
    assert "<dt>machine</dt><dd>Xeon, 8 CPUs</dd>" in page
    assert "<dt>python</dt><dd>3.11.2</dd>" in page
    again = "run it with git commit 3f2a91c0 with changes in 2 files, the program above, the versions above."
    assert again in page
    assert "Not recorded" not in page


def test_a_comparison_names_versions_and_origins_that_differ() -> None:
    page = comparison_page([content("iris/1", source(), origin=BEFORE), content("iris/2", source(), origin=NEXT)], NOW)

    assert "<h2>Versions that differ</h2>" in page
    assert "<h2>Origins that differ</h2>" in page
    assert "2.0.1" in page
    assert "1.11" not in page
    assert "Xeon" not in page
    assert page.index("<h2>Origins that differ</h2>") < page.index("<h2>Results</h2>")


def test_a_page_without_it_says_so_where_it_tells_how_to_repeat_the_run() -> None:
    page = run_page(content("iris/1"), NOW)

    assert "Not recorded: the program, its git commit, versions." in page
    assert "<h2>Program</h2>" not in page


def test_what_differs_between_programs_comes_first() -> None:
    runs = [
        content("iris/1", source("RATE = 0.1\n", "--seed", "0")),
        content("iris/2", source("RATE = 0.2\n", "--seed", "1")),
        content("iris/3", source("RATE = 0.1\n", "--seed", "0")),
        content("iris/4"),
    ]

    page = comparison_page(runs, NOW)

    for words in (
        "--seed 0 -&gt; 1; iris.py changed: 1 line",
        "the same program and arguments",
        "its program is not recorded",
    ):
        assert f"<td>{words}</td>" in page
    assert page.index("<h2>Programs</h2>") < page.index("<h2>Results</h2>")


def test_a_column_that_no_run_has_a_number_for_is_left_out() -> None:
    page = comparison_page([content("iris/1", source()), content("iris/2", source())], NOW)

    assert "Held-out loss" not in page
    assert "<td>–</td>" not in page


def test_programs_are_told_what_the_program_was(folder: Path) -> None:
    left = Left(folder)
    for name, data in stored_files({"iris.py": source("RATE = 0.1\n", "--seed", "0")}, 1).items():
        (left.place / name).parent.mkdir(parents=True, exist_ok=True)
        (left.place / name).write_bytes(data)
    origin = Origin(commit="3f2a", machine="Xeon", versions={"python": "3.11.2"})
    (left.place / "source/1/origin.json").write_bytes(origin.to_bytes())
    left.record(left.status)

    found = json.loads(qtj("report", "own", "-o", "json").output)

    digest = hashlib.sha256(b"RATE = 0.1\n").hexdigest()
    assert found["programs"] == {"iris.py": {"arguments": ["--seed", "0"], "code": {"iris.py": digest}, "data": {}}}
    unknown = {"image": None, "changed": None}
    assert found["origin"] == {"commit": "3f2a", "machine": "Xeon", "versions": {"python": "3.11.2"}} | unknown


def test_differences_are_named_with_arguments_first_and_versions_after_them() -> None:
    first = content("iris/1", source("RATE = 0.1\n", "--seed", "0"), origin=BEFORE)
    other = content("iris/2", source("RATE = 0.2\n", "--seed", "1"), origin=NEXT)

    assert differences(first, other) == [
        "--seed 0 -> 1", "iris.py changed: 1 line", "numpy 1.26.4 -> 2.0.1", "git commit 3f2a -> 91c0",
    ]  # fmt: skip
    assert differences(first, content("iris/3")) == []


def test_an_option_without_a_value_is_as_one_that_is_not_recorded() -> None:
    """A record of an earlier version does not have the options that came later."""
    earlier = replace(content("iris/1"), record=TrainingRecord(options={"seed": 1}))
    later = replace(content("iris/2"), record=TrainingRecord(options={"seed": 1, "patience": None}))
    patient = replace(content("iris/3"), record=TrainingRecord(options={"seed": 1, "patience": 2}))

    assert differences(earlier, later) == []
    assert differences(earlier, patient) == differences(later, patient) == ["patience – -> 2"]
    assert "patience" not in comparison_page([earlier, later], NOW)
    assert "patience" in comparison_page([earlier, patient], NOW)


def test_programs_of_another_job_in_the_same_artifacts_are_not_shown() -> None:
    stored = {f"at/{name}": data for name, data in stored_files({"iris.py": source("ours")}, 1).items()}
    stored |= {f"at/{name}": data for name, data in stored_files({"iris.py": source("another")}, 2).items()}
    stored["at/source/1/origin.json"] = Origin(job_uid="ours", commit="3f2a").to_bytes()
    stored["at/source/2/origin.json"] = Origin(job_uid="another").to_bytes()

    found = with_programs(content("iris"), "at", stored.get, ["ours"])

    assert found.programs["iris.py"].code == {"iris.py": "ours"}
    assert found.origin.commit == "3f2a"
