"""Archives that are the same bytes each time: sorted, without an owner, and with one time."""

import gzip
import io
import tarfile
from collections.abc import Mapping
from fnmatch import fnmatch
from pathlib import Path

from tools.release.version import ROOT, VERSION

CHART = f"qtj-operator-{VERSION}.tgz"
File = tuple[bytes, int]
"""The content of a file, and its mode."""


def tar_gz(files: Mapping[str, File], time: int) -> bytes:
    """Returns an archive.

    Args:
        files: The files, by their path in the archive.
        time: When they were changed, in seconds since 1970.
    """
    out = io.BytesIO()
    with (
        gzip.GzipFile(fileobj=out, mode="wb", filename="", mtime=time) as compressed,
        tarfile.open(fileobj=compressed, mode="w", format=tarfile.USTAR_FORMAT) as archive,
    ):
        for name, (content, mode) in sorted(files.items()):
            member = tarfile.TarInfo(name)
            member.size, member.mode, member.mtime = len(content), mode, time
            archive.addfile(member, io.BytesIO(content))
    return out.getvalue()


def chart_archive(time: int, root: Path = ROOT) -> bytes:
    """Returns the archive of the Helm chart, without what its .helmignore names: `helm package` writes the time of day.

    Args:
        time: When its files were changed, in seconds since 1970.
        root: The checkout.
    """
    source = root / "deploy" / "helm"
    ignored = (source / ".helmignore").read_text().split()
    paths = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    kept = [path for path in paths if not any(fnmatch(path.name, pattern) for pattern in ignored)]
    return tar_gz({f"qtj-operator/{path.relative_to(source)}": (path.read_bytes(), 0o644) for path in kept}, time)
