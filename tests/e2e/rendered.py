"""`qtj render` of every example is what a real API server takes."""

import subprocess

from tests.e2e.checks import Checks
from tests.e2e.kubectl import ROOT, KubectlError, kubectl
from tests.e2e.same_status import QTJ
from tests.e2e.world import World


def run(checks: Checks, _: World) -> None:
    """Renders each example and has the API server check what came out, field by field."""
    with checks.scenario("qtj render | kubectl apply --dry-run=server"):
        for example in sorted((ROOT / "examples").glob("*.yaml")):
            manifests = subprocess.run((*QTJ, "render", example), check=True, capture_output=True, text=True).stdout
            checks.equal(f"{example.name}: what is refused", _refusal(manifests), "")


def _refusal(manifests: str) -> str:
    try:
        kubectl("apply", "--dry-run=server", "--validate=strict", "-f", "-", stdin=manifests)
    except KubectlError as error:
        return str(error)
    return ""
