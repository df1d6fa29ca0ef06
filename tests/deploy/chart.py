"""The chart of `deploy/helm`, and Helm to render and install it."""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from tools.api_server import Programs
from tools.cluster.tools import kubernetes_version
from tools.release.version import ROOT

Json = dict[str, Any]
DEPLOY = ROOT / "deploy"
CHART = DEPLOY / "helm"
_VERSION = f"--kube-version={kubernetes_version()}"
"""Without a cluster, Helm cannot ask which Kubernetes the chart is for."""
_ADDED = (
    *("tensorboard", "priorityLevel", "watchNamespace", "nameOverride", "fullnameOverride", "commonLabels", "logLevel"),
    *("labelKeysToCopy", "env", "extraArgs", "serviceAccount", "affinity", "topologySpreadConstraints"),
    *("podSecurityContext", "securityContext", "livenessProbe", "readinessProbe", "podDisruptionBudget", "jobSettings"),
)
"""Values that the first chart did not have: `helm upgrade --reuse-values` gives those of the earlier chart alone."""


@dataclass(frozen=True)
class Helm:
    """Helm, and what it needs to run."""

    path: str
    programs: Programs
    home: Path
    kubeconfig: Path = Path("/nonexistent")

    def run(self, *words: str, values: Mapping[str, object] | None = None) -> subprocess.CompletedProcess[str]:
        """Runs Helm to its end, whatever that is; values go to `--values -`."""
        folders = {f"HELM_{name}_HOME": str(self.home / "helm") for name in ("CACHE", "CONFIG", "DATA")}
        return subprocess.run(
            [self.path, *words, *(() if values is None else ("--values=-",))],
            input=None if values is None else json.dumps(values),
            env={"PATH": os.environ["PATH"], "HOME": str(self.home), "KUBECONFIG": str(self.kubeconfig), **folders},
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    def do(self, *words: str, values: Mapping[str, object] | None = None) -> str:
        """Runs Helm, which must succeed, and returns what it printed."""
        ended = self.run(*words, values=values)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def render(self, values: Mapping[str, object], namespace: str = "qtj-system", chart: Path = CHART) -> list[Json]:
        """Returns the objects of a release, in the order of Helm."""
        text = self.do("template", "qtj-operator", str(chart), f"--namespace={namespace}", _VERSION, values=values)
        return objects_in(text)

    def refusal(self, values: Mapping[str, object]) -> str:
        """Returns what Helm says of values that it must refuse."""
        ended = self.run("template", "qtj-operator", str(CHART), _VERSION, values=values)
        assert ended.returncode != 0, f"{values} are not refused"
        return ended.stderr

    def lint(self, values: Mapping[str, object]) -> subprocess.CompletedProcess[str]:
        """Runs `helm lint` on the chart; warnings count as mistakes."""
        return self.run("lint", "--strict", _VERSION, str(CHART), values=values)


def objects_in(text: str) -> list[Json]:
    """Returns the objects of a YAML text, read by libyaml: Python takes ten times as long, and the CRD is large."""
    return [each for each in yaml.load_all(text, yaml.CSafeLoader) if each]


def by_name(objects: Sequence[Json]) -> Mapping[tuple[str, str], Json]:
    """Returns the objects by kind and name, of which no two may be the same."""
    found = {(each["kind"], each["metadata"]["name"]): each for each in objects}
    assert len(found) == len(objects), "two objects have the same kind and name"
    return found


def with_values_before(folder: Path) -> Path:
    """Returns a copy of the chart that has only the values of the release before."""
    shutil.copytree(CHART, folder)
    file = folder / "values.yaml"
    values = yaml.safe_load(file.read_text())
    file.write_text(yaml.safe_dump({name: value for name, value in values.items() if name not in _ADDED}))
    return folder
