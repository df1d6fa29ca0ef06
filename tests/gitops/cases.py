"""The table of health_test.yaml, which has the format of Argo CD's own tests of health checks."""

from collections.abc import Mapping
from pathlib import Path

import yaml

from tests.gitops.settings_file import FOLDER

CASES: Mapping[str, dict[str, str]] = {
    Path(case["inputPath"]).stem: case["healthStatus"]
    for case in yaml.safe_load((FOLDER / "health_test.yaml").read_text())["tests"]
}
"""The expected health, by the name of the state."""
