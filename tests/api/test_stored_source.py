"""Programs come back from the files that are stored of them, and the newest counts."""

import pytest

from qtj_contract.program_source import ProgramSource
from qtj_contract.stored_source import changes, newest, programs_from, stored_files


def program(text: str = "x = 1\n", *arguments: str) -> ProgramSource:
    return ProgramSource(script="a.py", code={"a.py": text, "lib/b.py": "y"}, data={}, arguments=arguments)


def test_their_text_can_be_read_and_they_come_back() -> None:
    programs = {"code/a.py": program("x = 'ü'\n", "--seed=1")}

    files = stored_files(programs, 3)

    assert set(files) == {"source/3/a.py", "source/3/lib/b.py", "source/3/source.json"}
    assert files["source/3/a.py"].decode() == "x = 'ü'\n"
    [found] = programs_from(files["source/3/source.json"]).values()
    assert found.changes_since(programs["code/a.py"]) == []


def test_the_newest_is_the_one_with_the_highest_number() -> None:
    assert newest(["source/2/source.json", "source/10/source.json", "source/11/a.py", "x/99/source.json"]) == 10
    assert newest([]) == 0


@pytest.mark.parametrize("data", [b"", b"[]", b'{"a": 1}', b"\xff", b"[" * 100_000])
def test_another_file_is_refused(data: bytes) -> None:
    with pytest.raises(ValueError, match=r"."):
        programs_from(data)


def test_changes_of_all_scripts_are_named_once() -> None:
    before = {"a.py": program(), "b.py": program(), "gone.py": program()}
    now = {"a.py": program("x = 2\n"), "b.py": program("x = 2\n"), "new.py": program()}

    assert changes(before, now) == ["a.py changed: 1 line", "gone.py is not run any more", "new.py is new"]
