"""Tells whether this machine has GPUs for CUDA, with the standard library alone: `python -m tests.gpu.present`."""

import sys
from collections.abc import Sequence
from pathlib import Path


def gpus(devices: Path = Path("/dev")) -> Sequence[str]:
    """Returns the names of the devices that NVIDIA's driver has made, one for each GPU."""
    return sorted(path.name for path in devices.glob("nvidia[0-9]*"))


if __name__ == "__main__":
    sys.exit(0 if gpus() else 1)
