"""Prints what a person would ask for after a failure."""

from tests.e2e.kubectl import KubectlError, kubectl

_LINES = "200"


def diagnose(namespace: str) -> None:
    """Prints objects, events, pod logs and the operator's log."""
    _show("-n", namespace, "get", "qtj,pods,services,deployments,jobs", "-o", "wide")
    _show("-n", namespace, "get", "qtj", "-o", "yaml")
    _show("-n", namespace, "get", "events", "--sort-by=.lastTimestamp")
    for pod in _names("-n", namespace, "get", "pods", "-o", "name"):
        _show("-n", namespace, "logs", pod, "--all-containers", "--prefix", f"--tail={_LINES}")
    _show("-n", "qtj-system", "logs", "deployment/qtj-operator", f"--tail={_LINES}")
    _show("get", "nodes", "-o", "wide")


def _names(*args: str) -> list[str]:
    try:
        return kubectl(*args).split()
    except KubectlError:
        return []


def _show(*args: str) -> None:
    print(f"---- kubectl {' '.join(args)}")
    try:
        print(kubectl(*args))
    except KubectlError as error:
        print(error)
