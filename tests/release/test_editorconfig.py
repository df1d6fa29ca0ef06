"""Every text file is as .editorconfig asks editors to leave it."""

import re
import subprocess

from tools.release.version import ROOT


def text_files() -> list[str]:
    listing = subprocess.run(
        ["git", "grep", "-I", "--name-only", "-e", "", "--", ".", ":!*.svg"],
        cwd=ROOT, capture_output=True, text=True, check=True,
    )  # fmt: skip
    return listing.stdout.splitlines()


def test_lines_end_with_a_newline_and_with_nothing_before_it() -> None:
    files = text_files()
    texts = {name: (ROOT / name).read_bytes().decode() for name in files}

    assert len(files) > 100
    assert [name for name, text in texts.items() if not text.endswith("\n")] == []
    assert [name for name, text in texts.items() if re.search(r"[ \t\r]$", text, re.MULTILINE)] == []


def test_only_makefiles_and_go_are_indented_by_tabs() -> None:
    kinds = (".py", ".yaml", ".yml", ".toml", ".md", ".c", ".h")
    tabbed = [
        name for name in text_files() if name.endswith(kinds) and re.search(r"(?m)^ *\t", (ROOT / name).read_text())
    ]

    assert tabbed == []
