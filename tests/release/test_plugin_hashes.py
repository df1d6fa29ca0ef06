"""The plugin of krew installs what its archive names by hash, whatever an index has under the same names."""

import shutil
import subprocess
import tarfile
from collections.abc import Mapping
from io import BytesIO
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.release.environments import UV
from tools.release.krew import plugin_archive
from tools.release.version import ROOT, VERSION

COMMAND, CONTRACT = "quantumtrainingjob", "quantumtrainingjob_contract"
PROGRAM = "import qtj_contract\ndef main():\n    print('contract of', qtj_contract.AUTHOR)\n"


def wheel(folder: Path, name: str, files: Mapping[str, str], build: str = "", needs: str = "") -> Path:
    """Writes a wheel as small as one can be."""
    folder.mkdir(exist_ok=True)
    path = folder / f"{name}-{VERSION}{build}-py3-none-any.whl"
    info = f"{name}-{VERSION}.dist-info"
    metadata = f"Metadata-Version: 2.1\nName: {name}\nVersion: {VERSION}\n{needs}"
    tags = "Wheel-Version: 1.0\nGenerator: test\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
    with ZipFile(path, "w") as archive:
        for member, text in {**files, f"{info}/METADATA": metadata, f"{info}/WHEEL": tags}.items():
            archive.writestr(member, text)
        archive.writestr(f"{info}/RECORD", "".join(f"{each},,\n" for each in archive.namelist()))
    return path


class Plugin:
    """An installed plugin of two small wheels, and an index on which a stranger has registered a name of ours."""

    def __init__(self, folder: Path) -> None:
        points = {f"{COMMAND}-{VERSION}.dist-info/entry_points.txt": "[console_scripts]\nkubectl-qtj = qtj:main\n"}
        needs = f"Requires-Dist: quantumtrainingjob-contract=={VERSION}\nProvides-Extra: operator\n"
        ours = [
            wheel(folder / "dist", COMMAND, {"qtj.py": PROGRAM, **points}, needs=needs),
            wheel(folder / "dist", CONTRACT, {"qtj_contract.py": "AUTHOR = 'ours'\n"}),
        ]
        self.strange = wheel(folder / "strange", CONTRACT, {"qtj_contract.py": "AUTHOR = 'a stranger'\n"}, build="-1")
        page = folder / "index/quantumtrainingjob-contract/index.html"
        page.parent.mkdir(parents=True)
        page.write_text(f'<a href="{self.strange.as_uri()}">{self.strange.name}</a>')
        root = folder / "checkout"
        for name in ("deploy/krew/kubectl-qtj", "LICENSE"):
            (root / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(ROOT / name, root / name)
        (root / "requirements").mkdir()
        (root / "requirements/command.txt").touch()  # no other packages
        self.folder, self.store = folder, folder / "store"
        with tarfile.open(fileobj=BytesIO(plugin_archive(ours, 1_700_000_000, root))) as archive:
            archive.extractall(self.store, filter="data")
        (folder / "kubectl-qtj").symlink_to(self.store / "kubectl-qtj")

    def start(self, path: str = f"{UV.parent}:/usr/bin:/bin") -> "subprocess.CompletedProcess[str]":
        settings = {
            "UV_DEFAULT_INDEX": (self.folder / "index").as_uri(),
            "UV_OFFLINE": "1",
            "UV_PYTHON_DOWNLOADS": "never",
        }
        environment = {"PATH": path, "HOME": str(self.folder), "UV_CACHE_DIR": str(self.folder / "cache"), **settings}
        return subprocess.run(
            [self.folder / "kubectl-qtj"],
            cwd=self.folder,
            env=environment,
            capture_output=True,
            text=True,
            check=False,
            timeout=120,
        )

    @property
    def made(self) -> list[str]:
        """What a start has left in the folder of the plugin."""
        return [path.name for path in self.store.glob("venv*")]


@pytest.fixture
def plugin(tmp_path: Path) -> Plugin:
    return Plugin(tmp_path)


def test_the_plugin_takes_its_own_wheel_where_an_index_has_another_of_that_version(plugin: Plugin) -> None:
    first = plugin.start()
    second = plugin.start("/usr/bin:/bin")  # it needs uv once

    assert (first.returncode, first.stdout) == (0, "contract of ours\n"), first.stderr
    assert (second.returncode, second.stdout) == (0, "contract of ours\n"), second.stderr


def test_a_wheel_that_was_changed_is_refused_and_leaves_nothing(plugin: Plugin) -> None:
    name = f"{CONTRACT}-{VERSION}-py3-none-any.whl"
    shutil.copy(plugin.strange, plugin.store / name)

    ended = plugin.start()

    assert ended.returncode != 0
    assert "Hash mismatch" in ended.stderr
    assert (ended.stdout, plugin.made) == ("", [])


def test_a_package_without_a_hash_is_refused(plugin: Plugin) -> None:
    with (plugin.store / "requirements.txt").open("a") as requirements:
        requirements.write("iso8601==2.1.0\n")

    ended = plugin.start()

    assert ended.returncode != 0
    assert "must have a hash" in ended.stderr
    assert plugin.made == []


def test_every_package_of_the_command_is_pinned_by_hash() -> None:
    text = (ROOT / "requirements/command.txt").read_text().replace("\\\n", " ")
    pins = [line for line in text.splitlines() if line[:1].isalnum()]

    assert {"pydantic", "typer", "rich", "kopf", "kubernetes"} <= {line.partition("==")[0] for line in pins}
    assert [line for line in pins if "--hash=sha256:" not in line] == []
