"""The site is built without a warning, and is complete: a reader needs no network."""

import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path

import pytest

from tests.missing import skip_or_fail
from tests.once import filled_once
from tools.docs.files import ROOT
from tools.docs.site import CHAPTERS

PYTHON = ROOT / ".venv-docs/bin/python"
LOADING = {"audio", "embed", "iframe", "img", "link", "script", "source", "video"}
"""Elements for which a browser loads what they name."""


class Loaded(HTMLParser):
    """What a browser loads for a page."""

    def __init__(self) -> None:
        super().__init__()
        self.addresses: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag in LOADING:
            self.addresses += [value for name, value in attrs if name in {"href", "src"} and value]


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if not PYTHON.exists():
        skip_or_fail("Sphinx is not installed: `make docs` does it")
    return filled_once(tmp_path_factory, "site", build_ours)


def build_ours(folder: Path) -> None:
    ended = build(folder)
    assert (ended.returncode, ended.stderr) == (0, "")


def build(folder: Path, root: Path = ROOT) -> subprocess.CompletedProcess[str]:
    command = [str(PYTHON), "-m", "tools.docs", str(folder)]
    return subprocess.run(command, cwd=root, capture_output=True, text=True, check=False, timeout=300)


def addresses(page: Path) -> list[str]:
    loaded = Loaded()
    loaded.feed(page.read_text())
    return loaded.addresses


def test_every_page_is_built(site: Path) -> None:
    names = ["index", *(name for pages in CHAPTERS.values() for name in pages)]

    assert [name for name in names if not (site / f"{name}.html").is_file()] == []


def test_a_browser_loads_nothing_from_other_places(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    styles = "\n".join(path.read_text() for path in site.rglob("*.css"))

    assert len(pages) > 50
    assert [address for page in pages for address in addresses(page) if re.match(r"(https?:)?//", address)] == []
    assert re.findall(r"(?:@import|url\()\s*[\"']?(?:https?:)?//", styles) == []


def test_what_a_page_loads_is_there(site: Path) -> None:
    def missing(page: Path) -> Iterator[str]:
        files = (re.sub(r"[?#].*", "", address) for address in addresses(page) if not address.startswith("data:"))
        yield from (f"{page.name}: {file}" for file in files if file and not (page.parent / file).exists())

    assert [each for page in site.rglob("*.html") for each in missing(page)] == []


@pytest.mark.slow
@pytest.mark.usefixtures("site")
def test_broken_links_are_found(tmp_path: Path) -> None:
    lines = ("[a](none.md)", "[a](concepts.md#no-heading)", "[a](../deploy/none.yaml)", "![a](none.png)")
    copy = tmp_path / "copy"
    subprocess.run(["git", "clone", "-q", str(ROOT), str(copy)], check=True)
    (copy / "docs/limits.md").write_text("\n\n".join(("# Limits", *lines)))

    ended = build(tmp_path / "site", copy)

    found = [name for name in ("none.md", "no-heading", "none.yaml", "none.png") if name in ended.stderr]
    assert (ended.returncode, len(found), ended.stderr.count("limits.md")) == (1, 4, 4)


def test_the_tool_needs_the_standard_library_alone() -> None:
    program = "import sys, tools.docs.site; print(*(name for name in sys.modules if '.' not in name))"
    ended = subprocess.run([sys.executable, "-S", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)

    assert set(ended.stdout.split()) - set(sys.stdlib_module_names) <= {"__main__", "tools"}
