"""What a release takes: `make version`, `make release`, the checks of `make lint`, and the text of the release."""

import argparse
import re
import shutil
import sys
from datetime import UTC, datetime

from tools.release import changelog
from tools.release.compatibility import CRD, RELEASED, incompatible
from tools.release.version import ROOT, VERSION, set_version, strays

CHANGELOG = ROOT / "CHANGELOG.md"


def problems() -> list[str]:
    """Returns what is wrong with this checkout as a successor of the last release."""
    return [
        *(f"{place} names another version than pyproject.toml, or repeats it" for place in strays()),
        *(f"{CRD.name} breaks what {RELEASED.name} allows: {broken}" for broken in incompatible()),
    ]


def check(tag: str | None) -> None:
    """Ends with what is wrong; with a tag, the tag and its section of the changelog are checked too."""
    wrong = problems()
    if tag is not None and tag != f"v{VERSION}":
        wrong.append(f"the tag {tag} is not v{VERSION}, which pyproject.toml says: tag the commit of `make version`")
    if tag is not None:
        changelog.section(CHANGELOG.read_text(), VERSION)
    if wrong:
        sys.exit("\n".join(wrong))


def release(version: str) -> None:
    """Makes this checkout the release: version, changelog, and the CRD that later ones are compared with."""
    if not re.fullmatch(r"\d+\.\d+\.\d+", version):
        sys.exit(f'"{version}" is no version: write three numbers, as in make version VERSION=1.2.3')
    check(None)
    CHANGELOG.write_text(changelog.close(CHANGELOG.read_text(), version, datetime.now(UTC).date()))
    set_version(version)
    shutil.copyfile(CRD, RELEASED)
    print(f"this is {version}: read the difference, commit it, and push the tag v{version}")


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m tools.release", description=__doc__)
    commands = parser.add_subparsers(required=True)
    checking = commands.add_parser("check", help="one version everywhere, and a compatible CRD")
    checking.add_argument("--tag", help="the tag that is being released")
    checking.set_defaults(act=lambda options: check(options.tag))
    releasing = commands.add_parser("prepare", help="make this checkout a release")
    releasing.add_argument("version")
    releasing.set_defaults(act=lambda options: release(options.version))
    telling = commands.add_parser("notes", help="print what this version brought, from the changelog")
    telling.set_defaults(act=lambda _: sys.stdout.write(changelog.section(CHANGELOG.read_text(), VERSION)))
    options = parser.parse_args()
    try:
        options.act(options)
    except changelog.ChangelogError as error:
        sys.exit(str(error))


if __name__ == "__main__":
    main()
