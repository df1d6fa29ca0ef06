"""`make reference`: writes the references; with --check it only reports whether they are up to date."""

import sys

from tests.reference.commands import COMMANDS, commands
from tests.reference.python import DOCUMENT, reference


def main() -> int:
    """Returns the exit code."""
    stale = 0
    for page, text, source in ((DOCUMENT, reference(), "the docstrings of qtj_trainer"), (COMMANDS, commands(), "qtj")):
        if "--check" not in sys.argv:
            page.write_text(text)
        elif not page.is_file() or page.read_text() != text:
            print(f"{page.name} differs from {source}: run `make reference`", file=sys.stderr)
            stale = 1
    return stale


if __name__ == "__main__":
    sys.exit(main())
