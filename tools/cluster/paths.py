"""Where things lie: everything a cluster leaves behind is below one of these two folders.

`down` removes the state. The cache holds what is slow to make and safe to keep, keyed by what it was made from;
it is never inside the checkout, so that neither git nor an image build can pick it up.
"""

import hashlib
import os
from collections.abc import Iterable
from pathlib import Path

REPO = Path(__file__).resolve().parents[2]
HERE = Path(__file__).resolve().parent

STATE = Path("/var/lib/qtj-cluster")
KUBECONFIG = STATE / "kubeconfig"
LOGS = STATE / "logs"
PIDS = STATE / "pids"
PKI = STATE / "pki"
LOCK = STATE.with_suffix(".lock")
"""Held by whoever changes the cluster. Beside the state, because that is what there is one of; gone after `down`."""


def cache_root() -> Path:
    """Where the cache is, or would be."""
    return Path(os.environ.get("QTJ_CACHE") or Path.home() / ".cache" / "quantumtraining")


def cache() -> Path:
    """The folder that survives `down`, made if missing."""
    root = cache_root()
    root.mkdir(parents=True, exist_ok=True)
    return root


def cache_lock() -> Path:
    """Held by whoever adds to the cache."""
    return cache() / "lock"


def digest(files: Iterable[Path], *words: str) -> str:
    """A short name for the content of files (and a few words): what a cache entry is keyed by."""
    sha = hashlib.sha256()
    for part in (*words, *(f"{path.name}\0{_fingerprint(path)}" for path in files)):
        sha.update(part.encode() + b"\0")
    return sha.hexdigest()[:16]


def _fingerprint(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def write(path: Path, text: str, mode: int = 0o644) -> None:
    """Writes a file in one step, so that no reader sees half of it and a crash leaves the old one."""
    path.parent.mkdir(parents=True, exist_ok=True)
    draft = path.with_name(f".{path.name}.draft")
    draft.write_text(text)
    draft.chmod(mode)
    draft.replace(path)
