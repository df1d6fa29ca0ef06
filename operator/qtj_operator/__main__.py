"""`python -m qtj_operator`: the operator, as its image starts it."""

import sys

from qtj_operator.cluster.command import MISUSED, main, report

_PROGRAM = "python -m qtj_operator"
_INSTALL = "pip install ./operator/qtj_contract './operator/qtj_operator[cluster]' in a checkout of this project"

if __name__ == "__main__":
    try:
        code = main(sys.argv[1:], _PROGRAM)
    except ModuleNotFoundError as problem:
        if str(problem.name).startswith("qtj_"):  # a defect of ours
            raise
        code = report(f"{_PROGRAM} needs the extra cluster, and there is no {problem.name}: {_INSTALL}", MISUSED)
    sys.exit(code)
