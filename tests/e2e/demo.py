"""`make cluster-demo`: the example, applied and followed live to the inference result."""

import sys
import time
from typing import Any

from tests.e2e.install import install_operator, install_storage
from tests.e2e.kubectl import ROOT, KubectlError, get, kubectl

NAMESPACE = "default"
_LIMIT_SECONDS = 420


def main() -> int:
    """Returns 0 when the job is Complete, else 1."""
    install_operator()
    install_storage(NAMESPACE)
    kubectl("delete", "qtj", "qcnn", "--ignore-not-found", "--wait", "--cascade=foreground")
    print("$ kubectl apply -f examples/qcnn.yaml", flush=True)
    print(kubectl("apply", "-f", str(ROOT / "examples/qcnn.yaml")), flush=True)
    job = _follow()
    if _phase(job) != "Complete":
        print(f"qcnn is {_phase(job)}: {_message(job)}", file=sys.stderr)
        return 1
    print("\n$ kubectl logs job/qcnn-inference")
    print(kubectl("logs", "job/qcnn-inference"))
    print("$ kubectl get qtj qcnn -o wide")
    print(kubectl("get", "qtj", "qcnn", "-o", "wide"))
    print(
        "inference:", ", ".join(f"{name} {value:.4g}" for name, value in job["status"]["inference"]["metrics"].items())
    )
    return 0


def _follow() -> dict[str, Any]:
    begin, last = time.monotonic(), ""
    while True:
        job: dict[str, Any] = get("qtj", "qcnn")
        line = _line(job)
        if line != last:
            print(f"{time.monotonic() - begin:6.1f} s  {line}", flush=True)
            last = line
        if _phase(job) in {"Complete", "Failed"} or time.monotonic() - begin > _LIMIT_SECONDS:
            return job
        time.sleep(0.5)


def _line(job: dict[str, Any]) -> str:
    status = job.get("status", {})
    parts = [f"{_phase(job):<10}", f"ready {status.get('ready', '0/0')}"]
    if progress := status.get("progress"):
        parts.append(f"epoch {progress['epoch']}/{progress['epochs']}")
        parts += [f"{name} {progress[name]}" for name in ("loss", "accuracy") if name in progress]
    return "  ".join(parts)


def _phase(job: dict[str, Any]) -> str:
    return str(job.get("status", {}).get("phase", "Pending"))


def _message(job: dict[str, Any]) -> str:
    conditions = job.get("status", {}).get("conditions", [])
    return str(conditions[-1]["message"]) if conditions else "the operator has not seen it yet"


if __name__ == "__main__":
    try:
        sys.exit(main())
    except KubectlError as error:
        sys.exit(f"cluster-demo: {error}")
