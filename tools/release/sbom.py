"""Software bills of materials in the form of CycloneDX, from the pinned requirements."""

import os
import subprocess
from pathlib import Path

from tools.release.version import ROOT

__all__ = ["SBOMS", "write_sboms"]

SBOMS = {
    "operator": "operator/qtj_operator",
    "trainer": "trainer/qtj_trainer",
    "tensorboard": None,
}
"""What has one, by the name of its requirements: the folder of the distribution that they are installed for, if any."""


def write_sboms(folder: Path, tools: Path, time: int, root: Path = ROOT) -> None:
    """Writes sbom-NAME.json for each image: its Python packages with their hashes, validated against the schema.

    Args:
        folder: Where to write them.
        tools: The folder of the programs of requirements/release.txt.
        time: The time in them, in seconds since 1970.
        root: The checkout.

    Raises:
        subprocess.CalledProcessError: One of them is not valid.
    """
    for name, source in SBOMS.items():
        options = ("--output-reproducible", "--validate", "--spec-version=1.6", "--output-format=JSON")
        pinned = root / "requirements" / f"{name}.txt"
        project = (f"--pyproject={root / source / 'pyproject.toml'}",) if source else ()
        subprocess.run(
            [tools / "cyclonedx-py", "requirements", *options, *project,
             f"--output-file={folder / f'sbom-{name}.json'}", pinned],
            # It warns that a requirements file does not tell which package asks for which.
            env={**os.environ, "SOURCE_DATE_EPOCH": str(time), "PYTHONWARNINGS": "ignore::UserWarning"},
            check=True,
        )  # fmt: skip
