"""Virtual environments for what is released."""

import subprocess
import sys
from pathlib import Path

UV = Path(sys.executable).with_name("uv")


def made(folder: Path, *wanted: str | Path) -> Path:
    """Returns the Python of an environment in this folder, with what `uv pip install` gets as words."""
    python = folder / "bin" / "python"
    subprocess.run([UV, "venv", "-q", "--allow-existing", "--python", sys.executable, folder], check=True)
    subprocess.run([UV, "pip", "install", "-q", "--python", python, *wanted], check=True)
    return python
