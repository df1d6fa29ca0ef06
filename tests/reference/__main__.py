"""`make reference`: writes docs/reference/python.md; with --check it only tells whether that is up to date."""

import sys

from tests.reference.python import DOCUMENT, reference


def main() -> int:
    """Returns the exit code."""
    text = reference()
    if "--check" not in sys.argv:
        DOCUMENT.write_text(text)
    elif not DOCUMENT.is_file() or DOCUMENT.read_text() != text:
        print(f"{DOCUMENT.name} differs from the docstrings of qtj_trainer: run `make reference`", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
