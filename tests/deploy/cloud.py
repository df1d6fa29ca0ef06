"""A Google Cloud that remembers, for `deploy/gke/gke.sh`: gcloud, kubectl and docker are stand-ins."""

import json
import os
import re
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tools.release.version import ROOT, VERSION

SCRIPT = ROOT / "deploy/gke/gke.sh"
PARAMETERS = SCRIPT.with_name("parameters.env")
READS = ("list", "get-iam-policy", "inspect", "kustomize")
"""Words of the calls that change nothing."""


@dataclass(frozen=True)
class Cloud:
    """The folder of a test: the programs, the parameters, and what was called."""

    folder: Path

    @classmethod
    def of(cls, folder: Path, **parameters: str) -> "Cloud":
        """Makes the stand-ins, and a copy of the parameters with some of them changed."""
        (folder / "bin").mkdir()
        standin = Path(__file__).with_name("standin.py").read_text()
        for program in ("gcloud", "kubectl", "docker"):
            path = folder / "bin" / program
            path.write_text(f"#!{sys.executable} -IS\n{standin}")
            path.chmod(0o755)
        cloud = cls(folder)
        cloud.write(**parameters)
        return cloud

    def write(self, **parameters: str) -> None:
        """Writes a copy of the parameters with some of them changed, for the next runs."""
        text = PARAMETERS.read_text()
        for name, value in ({"PROJECT": "lab"} | parameters).items():
            text = re.sub(rf"(?m)^{name}=\S*", f"{name}={value}", text)
        (self.folder / "lab.env").write_text(text)

    @property
    def memory(self) -> Path:
        """Where the stand-ins keep what there is."""
        return self.folder / "memory.json"

    def run(self, *words: str, fails: str = "") -> subprocess.CompletedProcess[str]:
        """Runs the script to its end, whatever that is; a call that has all words of `fails` is refused."""
        for each in self.folder.glob("calls.jsonl"):
            each.unlink()
        path = f"{self.folder}/bin{os.pathsep}{os.environ['PATH']}"
        return subprocess.run(
            [str(SCRIPT), "--parameters", str(self.folder / "lab.env"), *words],
            env={"PATH": path, "HOME": str(self.folder), "QTJ_STANDIN": str(self.folder), "QTJ_FAILS": fails},
            capture_output=True,
            text=True,
            check=False,
            timeout=300,
        )

    def do(self, *words: str) -> str:
        """Runs the script, which must succeed, and returns what it printed."""
        ended = self.run(*words)
        assert ended.returncode == 0, ended.stderr
        return ended.stdout

    def calls(self) -> Sequence[Sequence[str]]:
        """Returns the calls of the last run."""
        record = self.folder / "calls.jsonl"
        return [json.loads(line) for line in record.read_text().splitlines()] if record.exists() else []

    def changes(self) -> list[str]:
        """Returns the calls of the last run that change something, without what differs between machines."""
        return [plain(" ".join(call)) for call in self.calls() if not set(READS) & set(call)]

    def exists(self) -> dict[str, list[str]]:
        """Returns what there is, by kind."""
        found: dict[str, list[str]] = json.loads(self.memory.read_text())
        return {kind: names for kind, names in found.items() if names}

    def without(self, program: str) -> None:
        """Removes a program."""
        (self.folder / "bin" / program).unlink()


def plain(call: str) -> str:
    """Replaces the temporary folder, the checkout and the version."""
    call = re.sub(r"/\S*tmp\.\w+/", "WORK/", call)
    return call.replace(str(ROOT), "ROOT").replace(f":{VERSION}", ":VERSION").replace(" --quiet", "")
