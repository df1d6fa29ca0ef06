"""The queries of the dashboard, as Grafana sends them."""

import json
import re
from collections.abc import Iterator

from tests.e2e.kubectl import ROOT

MONITORS = ROOT / "deploy/helm/files/monitoring"


def queries() -> Iterator[tuple[str, str]]:
    """Yields each panel's title and query, with everything chosen."""
    for panel in json.loads((MONITORS / "dashboard.json").read_text())["panels"]:
        for target in panel.get("targets", ()):
            yield panel["title"], re.sub(r"\$(namespace|job|team)\b", ".+", target["expr"])
