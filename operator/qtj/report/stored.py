"""Files among the artifacts of a run, which may be missing, damaged or in a bucket."""

from pathlib import Path
from urllib.parse import unquote, urlsplit

__all__ = ["stored_path", "stored_text"]


def stored_path(uri: str) -> Path | None:
    """Returns the path of an object on this machine; None if it is in a bucket."""
    return Path(unquote(urlsplit(uri).path)) if uri.startswith("file://") else None


def stored_text(path: Path, what: str, notes: list[str]) -> str | None:
    """Returns the text of a file; None if it does not exist or cannot be read.

    Args:
        path: The file.
        what: What the file contains, for the sentence.
        notes: Gets a sentence if the file cannot be read.
    """
    try:
        return path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return None
    except OSError as problem:
        notes.append(f"{what} cannot be read from {path} ({problem.strerror})")
        return None
