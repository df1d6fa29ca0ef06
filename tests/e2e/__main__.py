"""`make e2e`: the product on a real cluster, asserted through kubectl alone."""

import sys

from tests.e2e import bad_input, chaos, qcnn, same_status
from tests.e2e.checks import Checks
from tests.e2e.diagnose import diagnose
from tests.e2e.install import install_operator, install_storage, remove_namespace

NAMESPACE = "qtj-e2e"


def main() -> int:
    """Runs every scenario; returns the exit code."""
    checks = Checks()
    with checks.scenario("installation"):
        remove_namespace(NAMESPACE)
        install_operator()
        install_storage(NAMESPACE)
        bad_input.rejected(checks, NAMESPACE)
        bad_input.apply_broken(NAMESPACE)
        qcnn.run(checks, NAMESPACE)
        bad_input.reported(checks, NAMESPACE)
        chaos.run(checks, NAMESPACE)
        same_status.run(checks, NAMESPACE)
    if checks.failed:
        diagnose(NAMESPACE)
    else:
        remove_namespace(NAMESPACE)
    print(checks.summary)
    return 1 if checks.failed or not checks.passed else 0


if __name__ == "__main__":
    sys.exit(main())
