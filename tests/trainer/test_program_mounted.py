"""What a program finds out about itself where a kubelet has mounted it: files are links into a folder of links."""

import json
import subprocess
import sys
from pathlib import Path

PROGRAM = """\
import json
import ansatz
from qtj_trainer.program.own_source import running_source
assert open("rows.csv").read() == "1\\n" and ansatz.LAYERS == 2
print(json.dumps(running_source().to_dict()))
"""
FILES = {"train.py": PROGRAM, "ansatz.py": "LAYERS = 2\n", "rows.csv": "1\n"}


def mounted(folder: Path) -> None:
    """Lays files out as `AtomicWriter` of pkg/volume/util does for a ConfigMap."""
    version = folder / "..2030_01_01_12_00_00.1234567890"
    version.mkdir()
    (folder / "..data").symlink_to(version.name)
    for name, text in FILES.items():
        (version / name).write_text(text)
        (folder / name).symlink_to(f"..data/{name}")


def test_it_has_the_names_of_its_keys_with_its_modules_and_data(tmp_path: Path) -> None:
    mounted(tmp_path)

    argv = (sys.executable, "train.py", "--seed=1")
    ended = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False, timeout=120)

    assert ended.returncode == 0, ended.stderr
    source = json.loads(ended.stdout)
    assert source["script"] == "train.py"
    assert source["code"] == {name: FILES[name] for name in ("ansatz.py", "train.py")}
    assert list(source["data"]) == ["rows.csv"]
    assert source["arguments"] == ["--seed=1"]
