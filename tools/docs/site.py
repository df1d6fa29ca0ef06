"""The documentation as a site: Sphinx builds it from docs/ and the files to which its pages link.

It runs in an environment of its own, with what requirements/docs.txt pins. So this needs the standard library alone.
"""

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

from tools.docs.files import ROOT, linked_files, with_site_links
from tools.docs.notebook_page import notebook_page

CHAPTERS: Mapping[str, Sequence[str]] = {
    "Start": ("tutorial", "concepts", "examples", "studies", "limits"),
    "How to": (
        "how-to/settings",
        "how-to/follow",
        "how-to/own-circuit",
        "how-to/tfq",
        "how-to/noise",
        "how-to/frameworks",
        "how-to/own-program",
        "how-to/python",
        "how-to/notebook",
        "how-to/own-data",
        "how-to/several-jobs",
        "how-to/study",
        "how-to/workers",
        "how-to/preemptible",
        "how-to/gpu",
        "how-to/tensorboard",
        "how-to/tracking",
        "how-to/profiling",
        "how-to/tfjob",
        "gitops",
    ),
    "Operate": (
        "operations/install",
        "operations/access",
        "operations/defaults",
        "operations/upgrade",
        "operations/monitor",
        "operations/alerts",
        "operations/many-jobs",
        "operations/neighbours",
        "troubleshooting",
    ),
    "Reference": (
        "reference/api",
        "reference/study-api",
        "reference/conditions",
        "reference/cli",
        "reference/commands",
        "reference/trainer",
        "reference/qcnn",
        "reference/contract",
        "reference/resume",
        "reference/python",
        "reference/metrics",
        "reference/chart",
    ),
    "Design": ("design/architecture", "design/engine", "benchmarks/README"),
    "Project": ("files/CHANGELOG", "files/CONTRIBUTING", "files/SECURITY"),
}
"""The pages of the site in their order, by the headings of its list."""
_SHORT = {
    "benchmarks/README": "Benchmarks",
    "gitops": "Keep jobs in Git",
    "reference/api": "Fields of a job",
    "reference/study-api": "Fields of a study",
    "reference/cli": "The command",
}
"""Titles in the list, where those of the pages are too long for it."""


def build(site: Path) -> int:
    """Builds the site into a folder. Returns the exit code: a warning, such as a broken link, is an error."""
    with TemporaryDirectory(prefix="qtj-docs-") as folder:
        source = Path(folder)
        _stage(source)
        shutil.rmtree(site, ignore_errors=True)
        options = ("-q", "-W", "--keep-going", "-d", f"{folder}/.trees")
        return subprocess.run([sys.executable, "-m", "sphinx", *options, folder, str(site)], check=False).returncode


def _stage(source: Path) -> None:
    """Writes what Sphinx reads: docs/ with the links of the site, pages for other files, and the list of all pages."""
    shutil.copytree(ROOT / "docs", source, dirs_exist_ok=True)
    for notebook in source.rglob("*.ipynb"):
        notebook.with_suffix(".md").write_text(notebook_page(notebook.read_text()))
    for page in source.rglob("*.md"):
        page.write_text(with_site_links(page.read_text(), f"docs/{page.relative_to(source).as_posix()}"))
    for name, text in linked_files().items():
        (source / name).parent.mkdir(parents=True, exist_ok=True)
        (source / name).write_text(text)
    with (source / "index.md").open("a") as index:
        index.writelines(_list(heading, pages) for heading, pages in CHAPTERS.items())


def _list(heading: str, pages: Sequence[str]) -> str:
    entries = (f"{_SHORT[page]} <{page}>" if page in _SHORT else page for page in pages)
    return "\n".join(("\n```{toctree}", ":hidden:", f":caption: {heading}", "", *entries, "```", ""))
