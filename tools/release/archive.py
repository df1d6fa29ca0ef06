"""Archives that are the same bytes each time: sorted, without an owner, and with one time."""

import gzip
import io
import tarfile
from collections.abc import Mapping

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
