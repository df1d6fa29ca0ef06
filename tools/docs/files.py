"""Files of this repository outside of docs/ to which pages link: the site has a page for each of them."""

import posixpath
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).parents[2]
TOP = ("CHANGELOG.md", "CONTRIBUTING.md", "README.md", "SECURITY.md")
"""Pages at the top of the repository. The site has them too."""

_LINK = re.compile(r"(?<=\]\()(?P<path>[^)\s:#]+)(?=(?:#[^)\s]*)?\))")
"""The file of a Markdown link."""
_LANGUAGES = {".c": "c", ".h": "c", ".json": "json", ".py": "python", ".sh": "bash", ".yaml": "yaml"}


def linked_files() -> dict[str, str]:
    """Returns the Markdown of the page of each file outside of docs/ that is linked, by its path in the site."""
    waiting = [*TOP, *(path.relative_to(ROOT).as_posix() for path in (ROOT / "docs").rglob("*.md"))]
    seen: set[str] = set()
    while waiting:
        path = waiting.pop()
        if path not in seen:
            seen.add(path)
            waiting += _linked(path)
    return {_in_site(path): _page_of(path) for path in seen if not path.startswith("docs/")}


def with_site_links(text: str, path: str) -> str:
    """Returns a page of this repository with its links to files outside of docs/ changed to links to their pages."""
    here = posixpath.dirname(_in_site(path)) or "."

    def replaced(found: re.Match[str]) -> str:
        target = _target(path, found["path"])
        return posixpath.relpath(_in_site(target), here) if target else found[0]

    return _LINK.sub(replaced, text)


def _page_of(path: str) -> str:
    head = f"---\norphan: true\nnosearch: {str(path not in TOP).lower()}\n---\n\n"
    place = ROOT / path
    if place.is_dir():
        below = (f"* [{each}]({posixpath.relpath(each, posixpath.dirname(path) or '.')})\n" for each in _files_of(path))
        return f"{head}# {path}\n\n{with_site_links(''.join(below), path)}"
    if path.endswith(".md"):
        return head + with_site_links(place.read_text(), path)
    language = "text" if "templates" in place.parts else _LANGUAGES.get(place.suffix, "text")  # Helm's are no YAML
    return f"{head}# {path}\n\n````{language}\n{place.read_text().rstrip()}\n````\n"


def _linked(path: str) -> Iterator[str]:
    """Yields the files to which a page links, or those of a folder."""
    if (ROOT / path).is_dir():
        yield from _files_of(path)
    elif path.endswith(".md"):
        targets = (_target(path, link) for link in _LINK.findall((ROOT / path).read_text()))
        yield from (each for each in targets if each)


def _target(path: str, link: str) -> str | None:
    """Returns the path of a linked file in the repository; None if there is no such file."""
    target = posixpath.normpath(posixpath.join(posixpath.dirname(path), link))
    return target if (ROOT / target).exists() and not target.startswith("..") else None


def _in_site(path: str) -> str:
    """Returns where the site has a file: pages of docs/ at the top, others below files/."""
    if path.startswith("docs/"):
        return path.removeprefix("docs/")
    return f"files/{path}" if path.endswith(".md") else f"files/{path}.md"


def _files_of(folder: str) -> list[str]:
    listing = subprocess.run(["git", "ls-files", folder], cwd=ROOT, capture_output=True, text=True, check=True)
    return listing.stdout.splitlines()
