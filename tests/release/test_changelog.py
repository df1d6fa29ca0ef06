"""The changelog is what a release says of itself."""

from datetime import date

import pytest

from tools.release.changelog import ChangelogError, close, section
from tools.release.version import ROOT, VERSION

TEXT = "# Changelog\n\n## Unreleased\n\n### Added\n\n- A lamp.\n\n## 0.1.0 - 2026-01-02\n\n- A house.\n"
DAY = date(2026, 3, 4)


def test_this_version_has_a_section() -> None:
    assert section((ROOT / "CHANGELOG.md").read_text(), VERSION).startswith("### Added\n")


def test_a_section_ends_where_the_next_begins() -> None:
    closed = close(TEXT, "0.2.0", DAY)

    assert section(closed, "0.2.0") == "### Added\n\n- A lamp.\n"
    assert section(closed, "0.1.0") == "- A house.\n"


def test_after_a_release_nothing_is_unreleased() -> None:
    closed = close(TEXT, "0.2.0", DAY)

    assert "## Unreleased\n\n## 0.2.0 - 2026-03-04\n" in closed
    with pytest.raises(ChangelogError, match="nothing below `## Unreleased`"):
        close(closed, "0.3.0", DAY)


@pytest.mark.parametrize("version", ["0.3.0", "0.1", "0.1.0.0"])
def test_a_version_without_a_section_is_refused(version: str) -> None:
    with pytest.raises(ChangelogError, match=f"no section `## {version} - DATE`"):
        section(TEXT, version)
