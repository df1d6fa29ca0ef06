"""The files of the chart that are copies: `make chart`. A chart cannot read files outside of its folder."""

import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
TARGET = Path(__file__).parent / "files"
SOURCES = {
    "crd.yaml": "crds/quantumtrainingjobs.quantumtraining.dev.yaml",
    "rbac.yaml": "deploy/kustomize/rbac.yaml",
    "service.yaml": "deploy/kustomize/service.yaml",
    "disruption.yaml": "deploy/kustomize/disruption.yaml",
    "users.yaml": "deploy/users/rbac.yaml",
    "node-reader.yaml": "deploy/node-reader/rbac.yaml",
    "priority-level.yaml": "deploy/priority/priority.yaml",
    "scrape.yaml": "deploy/monitoring/scrape.yaml",
    "trainers.yaml": "deploy/monitoring/trainers.yaml",
    "alerts.yaml": "deploy/monitoring/alerts.yaml",
    "dashboard.json": "deploy/monitoring/dashboard.json",
}


def outdated() -> list[str]:
    """Returns the names of the files in `files/` that are not what their source is, or have none."""
    found = {path.name: path.read_bytes() for path in TARGET.iterdir()}
    wanted = {name: (ROOT / source).read_bytes() for name, source in SOURCES.items()}
    return sorted(name for name in {*found, *wanted} if found.get(name) != wanted.get(name))


def write() -> None:
    """Makes `files/` the copies of the sources, and nothing else."""
    TARGET.mkdir(exist_ok=True)
    for name in outdated():
        (TARGET / name).unlink(missing_ok=True)
        if name in SOURCES:
            (TARGET / name).write_bytes((ROOT / SOURCES[name]).read_bytes())


if __name__ == "__main__":
    if "--check" in sys.argv:
        names = ", ".join(outdated())
        sys.exit(f"deploy/helm/files: {names} differ from their sources: run `make chart`" if names else 0)
    write()
