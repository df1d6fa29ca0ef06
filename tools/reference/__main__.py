"""`make reference`: writes the generated pages; with --check it only reports whether they are up to date."""

import sys

from tools.reference.chart import CHART_VALUES, chart_values
from tools.reference.commands import COMMANDS, commands
from tools.reference.manual import PAGE, manual
from tools.reference.models import MODELS, shipped
from tools.reference.python import DOCUMENT, reference

PAGES = (
    (DOCUMENT, reference, "the docstrings of qtj_trainer"),
    (COMMANDS, commands, "the commands of qtj"),
    (PAGE, manual, "the commands of qtj"),
    (CHART_VALUES, chart_values, "values.yaml or values.schema.json of the chart"),
    (MODELS, shipped, "the models of the library kubernetes"),
)
"""The pages, what writes each, and what it is made of."""


def main() -> int:
    """Returns the exit code."""
    code = 0
    for path, write, source in PAGES:
        text = write()
        if "--check" not in sys.argv:
            path.write_text(text)
        elif not path.is_file() or path.read_text() != text:
            print(f"{path.name} differs from {source}: run `make reference`", file=sys.stderr)
            code = 1
    return code


if __name__ == "__main__":
    sys.exit(main())
