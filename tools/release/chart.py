"""The Helm chart as an archive: `helm package` writes the time of the day into its own."""

from fnmatch import fnmatch
from pathlib import Path

from tools.release.archive import tar_gz
from tools.release.version import ROOT, VERSION

CHART = f"qtj-operator-{VERSION}.tgz"


def chart_archive(time: int, root: Path = ROOT) -> bytes:
    """Returns the archive of the chart, without what its .helmignore names.

    Args:
        time: When its files were changed, in seconds since 1970.
        root: The checkout.
    """
    source = root / "deploy" / "helm"
    ignored = (source / ".helmignore").read_text().split()
    paths = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    kept = [path for path in paths if not any(fnmatch(path.name, pattern) for pattern in ignored)]
    return tar_gz({f"qtj-operator/{path.relative_to(source)}": (path.read_bytes(), 0o644) for path in kept}, time)
