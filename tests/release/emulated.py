"""Python for 64-bit ARM on another processor: Debian's, unpacked beside the system and emulated."""

import shutil
import subprocess
from pathlib import Path

from tests.missing import skip_or_fail

EMULATOR = "qemu-aarch64-static"
PACKAGES = ("python3", "libstdc++6")


def python_on_arm(folder: Path) -> tuple[tuple[str | Path, ...], str]:
    """Downloads a Python with all that it needs from where this system has its packages; nothing is installed.

    Args:
        folder: Where to put it.

    Returns:
        The words that start it, and its version, such as 3.11.
    """
    if not (shutil.which(EMULATOR) and shutil.which("apt-get")):
        skip_or_fail("needs apt-get and qemu-user-static; make test-long installs the latter where there is apt")
    root, archives = folder / "root", folder / "cache" / "archives"
    for made in (folder / "lists" / "partial", archives / "partial", root):
        made.mkdir(parents=True)
    (folder / "status").touch()
    subprocess.run([*_apt(folder), "update", "-qq"], check=True, capture_output=True)
    download = ("install", "-qq", "--yes", "--download-only", "--no-install-recommends", *PACKAGES)
    subprocess.run([*_apt(folder), *download], check=True, capture_output=True)
    for package in archives.glob("*.deb"):
        subprocess.run(["dpkg-deb", "-x", package, root], check=True)
    for name in ("bin", "lib"):
        if not (root / name).exists():
            (root / name).symlink_to(f"usr/{name}")
    python = (root / "usr/bin/python3").resolve()
    return (EMULATOR, "-L", root, python), python.name.removeprefix("python")


def _apt(folder: Path) -> list[str]:
    """The words that start apt with a state of its own, in which this system is one on ARM without any package."""
    state = {
        "APT::Architecture": "arm64", "APT::Architectures::": "arm64", "APT::Sandbox::User": "root",
        "Dir::State::Lists": folder / "lists", "Dir::State::Status": folder / "status", "Dir::Cache": folder / "cache",
    }  # fmt: skip
    return ["apt-get", *(word for name, value in state.items() for word in ("-o", f"{name}={value}"))]
