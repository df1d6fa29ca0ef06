"""SHA256SUMS, which `sha256sum --check` reads."""

import hashlib
from pathlib import Path

__all__ = ["SUMS", "write_sums"]

SUMS = "SHA256SUMS"


def write_sums(folder: Path) -> None:
    """Writes the checksums of all files of a folder, and of the folders in it, into the file SHA256SUMS."""
    paths = sorted(path for path in folder.rglob("*") if path.is_file() and path.name != SUMS)
    lines = [f"{hashlib.sha256(path.read_bytes()).hexdigest()}  {path.relative_to(folder)}\n" for path in paths]
    (folder / SUMS).write_text("".join(lines))
