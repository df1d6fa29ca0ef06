"""Brings the operator and the storage emulator into the cluster, and takes a test namespace out again."""

from tests.e2e.kubectl import ROOT, exists, kubectl

OPERATOR = ("-n", "qtj-system")
"""Where kubectl finds the operator."""
_LABELS = (
    "pod-security.kubernetes.io/enforce=restricted",
    "pod-security.kubernetes.io/warn=restricted",
)


def install_operator() -> None:
    """Applies deploy/kustomize and waits until the new operator watches."""
    kubectl("apply", "-k", str(ROOT / "deploy/kustomize"))
    # The tag stays the same when our code changes, so the Deployment does not notice by itself.
    kubectl(*OPERATOR, "rollout", "restart", "deployment/qtj-operator")
    kubectl(*OPERATOR, "rollout", "status", "deployment/qtj-operator", "--timeout=120s", timeout=130)


def install_storage(namespace: str) -> None:
    """Makes a namespace that admits restricted pods only, with the storage emulator in it."""
    if not exists("namespace", namespace):
        kubectl("create", "namespace", namespace)
    kubectl("label", "--overwrite", "namespace", namespace, *_LABELS)
    kubectl("-n", namespace, "apply", "-f", str(ROOT / "tests/e2e/gcs-emulator.yaml"))
    kubectl("-n", namespace, "rollout", "status", "deployment/gcs", "--timeout=60s")


def remove_namespace(namespace: str) -> None:
    """Deletes a test namespace with everything in it."""
    kubectl("delete", "namespace", namespace, "--ignore-not-found", "--timeout=120s", timeout=130)
