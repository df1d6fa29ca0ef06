"""Writes what is in deploy/argocd beside health.lua: `python -m tests.gitops.settings_file`.

`argocd-cm.yaml` is the script where Argo CD reads it. `testdata` holds what the operator writes into the status in each
state, for health_test.yaml: with these files the folder has the layout of resource_customizations of Argo CD itself.
"""

from collections.abc import Mapping
from pathlib import Path

import yaml

from qtj_operator.api.names import KIND
from qtj_operator.api.study import STUDY_KIND
from tests.gitops.states import STATES

FOLDER = Path(__file__).parents[2] / "deploy" / "argocd"
CASES: Mapping[str, dict[str, str]] = {
    Path(case["inputPath"]).stem: case["healthStatus"]
    for case in yaml.safe_load((FOLDER / "health_test.yaml").read_text())["tests"]
}
"""The expected health by the name of the state: the table of health_test.yaml, in the format of Argo CD's own tests."""
_KEYS = tuple(f"resource.customizations.health.quantumtraining.dev_{kind}" for kind in (KIND, STUDY_KIND))
_HEADER = """\
# Generated from health.lua by `python -m tests.gitops.settings_file`. Do not edit. Adds the health check to Argo CD:
#   kubectl apply --server-side --field-manager=quantumtraining -f deploy/argocd/argocd-cm.yaml
"""


def generated() -> Mapping[Path, str]:
    """Returns the text of each generated file."""
    states = {FOLDER / "testdata" / f"{name}.yaml": yaml.safe_dump(job, width=120) for name, job in STATES.items()}
    return {FOLDER / "argocd-cm.yaml": _config_map((FOLDER / "health.lua").read_text()), **states}


def _config_map(script: str) -> str:
    metadata = yaml.safe_dump({"metadata": {"name": "argocd-cm", "namespace": "argocd"}})
    indented = "".join(f"    {line}\n" if line else "\n" for line in script.splitlines())
    data = "".join(f"  {key}: |\n{indented}" for key in _KEYS)
    return f"{_HEADER}apiVersion: v1\nkind: ConfigMap\n{metadata}data:\n{data}"


if __name__ == "__main__":
    for file, content in generated().items():
        file.parent.mkdir(exist_ok=True)
        file.write_text(content)
