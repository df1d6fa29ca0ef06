"""The CRD of this checkout beside that of the last release."""

from pathlib import Path

import yaml

from tools.release.compatibility import breaks, inequalities
from tools.release.version import ROOT

__all__ = ["CRD", "RELEASED", "incompatible"]

CRD = ROOT / "crds" / "quantumtrainingjobs.quantumtraining.dev.yaml"
RELEASED = Path(__file__).with_name("released-crd.yaml")
"""A copy, and not the tag's: a clone need not have the tags. `make version` brings it up to date."""


def incompatible() -> list[str]:
    """Returns what an upgrade from the last release to this checkout, or a step back, would break."""
    present = yaml.safe_load(CRD.read_text())
    return [*breaks(yaml.safe_load(RELEASED.read_text()), present), *inequalities(present)]
