"""The six distributions: what each has, what it asks for, and that it needs none of the others but those it names."""

import math
import re
import subprocess
import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path
from zipfile import ZipFile

import pytest

from tests.once import filled_once
from tests.release.environments import made
from tools.release.version import ROOT, VERSION
from tools.release.wheel import LIBRARIES, PACKAGES, faults

CONTRACT, COMMAND, OPERATOR, REPORT, SIMULATOR, TRAINER = (
    f"quantumtrainingjob{part}" for part in ("_contract", "", "_operator", "_report", "_simulator", "_trainer")
)
FOLDERS = {
    CONTRACT: "operator/qtj_contract",
    OPERATOR: "operator/qtj_operator",
    REPORT: "operator/qtj_report",
    SIMULATOR: "trainer/qtj_simulator",
    TRAINER: "trainer/qtj_trainer",
    COMMAND: ".",
}
IMPORTS = """
import importlib, pkgutil, sys
*sys.path[:0], name, absent = sys.argv[1:]
package = importlib.import_module(name)
for module in pkgutil.walk_packages(package.__path__, name + "."):
    # Libraries are no modules, and PyTorch is in an environment of its own.
    if not module.name.endswith(("__main__", ".torch")) and ".libqtj_" not in module.name:
        importlib.import_module(module.name)
print(*sorted(set(absent.split(",")) & sys.modules.keys()))
"""

VALIDATE = """
import sys
*sys.path[:0], file = sys.argv[1:]
sys.modules["kubernetes"] = None
sys.argv = ["qtj", "validate", file]
import qtj
qtj.app()
"""


GRADIENT = """
import sys
import cirq, numpy, sympy
from qtj_simulator import expectation_engine

qubit, x, a = cirq.LineQubit(0), *sympy.symbols("x a")
circuit = cirq.Circuit(cirq.rx(x)(qubit), cirq.rx(a)(qubit))
engine = expectation_engine(circuit, cirq.Z(qubit), inputs=[x], weights=[a], dtype="float64")
given = numpy.array([[0.25], [0.5]]), numpy.array([0.125])
by_inputs, by_weights = engine.gradients(*given, numpy.ones((2, 1)))
print(*engine.values(*given).ravel(), *by_inputs.ravel(), *by_weights)
"""

BROUGHT = """
from importlib.metadata import distribution, distributions
from packaging.requirements import Requirement

needed, queue = set(), ["numpy", "cirq-core"]
while queue:
    name = queue.pop()
    if name not in needed:
        needed.add(name)
        asked = map(Requirement, distribution(name).requires or [])
        queue += [each.name.lower() for each in asked if not each.marker or each.marker.evaluate({"extra": ""})]
print(*sorted({each.name.lower() for each in distributions()} - needed))
ours = [each for each in distributions() if each.name.startswith("quantumtrainingjob")]
print(sum(file.locate().stat().st_size for each in ours for file in each.files))
"""

PROGRAM = """
import numpy
from qtj_trainer import Program

program = Program(epochs=3)
x = numpy.linspace(-1.0, 1.0, 32)
state = program.state(slope=numpy.zeros(1))
for epoch in program.epochs():
    for _ in epoch.steps(50):
        miss = state.slope * x - 3.0 * x
        state.slope = state.slope - 0.5 * (miss * x).mean()
        epoch.step(loss=float((miss**2).mean()))
print("slope", state.slope[0])
program.finish(state.slope, {"slope": float(state.slope[0])})
"""

LAYER = "from qtj_simulator import PQC"


@pytest.fixture(scope="module")
def wheels(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    """The wheel of each distribution, built with what requirements/build.txt pins."""
    folder = filled_once(tmp_path_factory, "wheels", build_wheels)
    return {path.name.partition("-")[0]: path for path in folder.glob("*.whl")}


def build_wheels(folder: Path) -> None:
    python = made(folder / "venv", "--require-hashes", "-r", ROOT / "requirements" / "build.txt")
    build = (python, "-m", "hatchling", "build", "-t", "wheel", "-d", folder)
    for source in FOLDERS.values():
        subprocess.run(build, cwd=ROOT / source, check=True, capture_output=True)


@pytest.fixture(scope="module")
def unpacked(wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Path]:
    folders = {name: tmp_path_factory.mktemp(name) for name in wheels}
    for name, folder in folders.items():
        ZipFile(wheels[name]).extractall(folder)
    return folders


def metadata(wheel: Path) -> str:
    with ZipFile(wheel) as archive:
        [name] = [name for name in archive.namelist() if name.endswith(".dist-info/METADATA")]
        return archive.read(name).decode()


def required(wheel: Path, extra: str = "") -> set[str]:
    """What a wheel asks for, always or for an extra, without versions but those of our own distributions."""
    lines = re.findall(r"^Requires-Dist: (.*)$", metadata(wheel), re.MULTILINE)
    chosen = [line.partition(";")[0] for line in lines if (f"extra == '{extra}'" in line if extra else ";" not in line)]
    return {line if line.startswith("quantumtrainingjob") else re.split(r"[<>=\[]", line)[0] for line in chosen}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_its_own_package_alone(wheels: Mapping[str, Path], name: str) -> None:
    built_here = ["its name has no manylinux tag, so package indexes refuse it"]  # until auditwheel has repaired it

    assert faults(wheels[name]) == (built_here if name in LIBRARIES else [])


def test_the_command_has_the_programs_that_init_writes(unpacked: Mapping[str, Path]) -> None:
    programs = {path.name: path.read_text() for path in (unpacked[COMMAND] / "qtj/create/programs").iterdir()}

    written = [
        *(ROOT / "examples").glob("own_*.py"),
        *(ROOT / "examples" / f"{kind}.py" for kind in ("classifier", "qaoa", "vqe")),
    ]
    assert programs == {path.name: path.read_text() for path in written}


@pytest.mark.parametrize("name", PACKAGES)
def test_a_wheel_has_the_license(unpacked: Mapping[str, Path], name: str) -> None:
    [text] = unpacked[name].glob("*.dist-info/licenses/LICENSE")

    assert text.read_text() == (ROOT / "LICENSE").read_text()


def test_the_contract_needs_nothing(wheels: Mapping[str, Path]) -> None:
    assert "Requires-Dist" not in metadata(wheels[CONTRACT])


def test_the_report_needs_the_contract_alone(wheels: Mapping[str, Path]) -> None:
    assert required(wheels[REPORT]) == {f"quantumtrainingjob-contract=={VERSION}"}


def test_the_operator_needs_no_trainer_and_kopf_with_its_extra_alone(wheels: Mapping[str, Path]) -> None:
    contract = f"quantumtrainingjob-contract=={VERSION}"

    assert required(wheels[OPERATOR]) == {contract, "prometheus-client", "pydantic", "pyyaml"}
    assert required(wheels[OPERATOR], "cluster") == {"aiohttp", "kopf", "kubernetes", "python-json-logger"}


def test_the_trainer_needs_nothing_of_the_operator(wheels: Mapping[str, Path]) -> None:
    needed = required(wheels[TRAINER])

    ours = {f"quantumtrainingjob-{part}=={VERSION}" for part in ("contract", "report", "simulator")}
    assert {each for each in needed if each.startswith("quantum")} == ours
    assert not {"kopf", "kubernetes", "aiohttp", "pydantic", "pyyaml", "tensorflow", "tf-keras"} & needed
    assert {"tensorflow", "tensorflow-quantum", "tf-keras"} <= required(wheels[TRAINER], "tensorflow")


def test_the_simulator_needs_no_tensorflow(wheels: Mapping[str, Path]) -> None:
    contract = f"quantumtrainingjob-contract=={VERSION}"

    assert required(wheels[SIMULATOR]) == {contract, "cirq-core", "numpy", "sympy"}
    assert required(wheels[SIMULATOR], "tensorflow") == {"tensorflow", "tf-keras"}
    assert required(wheels[SIMULATOR], "tfq") == {"tensorflow", "tensorflow-quantum", "tf-keras"}


def test_the_extras_of_the_command_are_the_other_distributions(wheels: Mapping[str, Path]) -> None:
    extras = {extra: required(wheels[COMMAND], extra) for extra in ("operator", "trainer", "gpu")}

    assert extras == {
        "operator": {f"quantumtrainingjob-operator[cluster]=={VERSION}"},
        "trainer": {f"quantumtrainingjob-trainer[tensorflow]=={VERSION}"},
        "gpu": {f"quantumtrainingjob-trainer[gpu]=={VERSION}"},
    }


@pytest.mark.parametrize(
    ("name", "beside", "absent"),
    [
        (CONTRACT, (), "pydantic,yaml,kopf,numpy,qtj,qtj_operator,qtj_report,qtj_simulator,qtj_trainer"),
        (REPORT, (CONTRACT,), "pydantic,yaml,kopf,numpy,matplotlib,qtj,qtj_operator,qtj_simulator,qtj_trainer"),
        (OPERATOR, (CONTRACT,), "typer,rich,numpy,tensorflow,qtj,qtj_report,qtj_simulator,qtj_trainer"),
        (SIMULATOR, (CONTRACT,), "kopf,pydantic,qtj,qtj_operator,qtj_report,qtj_trainer"),
        (TRAINER, (CONTRACT, REPORT, SIMULATOR), "kopf,kubernetes,pydantic,qtj,qtj_operator"),
        (COMMAND, (CONTRACT, OPERATOR, REPORT), "kopf,tensorflow,qtj_simulator,qtj_trainer"),
    ],
)
def test_a_distribution_is_imported_with_those_alone_that_it_asks_for(
    unpacked: Mapping[str, Path], name: str, beside: tuple[str, ...], absent: str
) -> None:
    path = [unpacked[each] for each in (name, *beside)]
    libraries = [] if name == CONTRACT else [sysconfig.get_path("purelib")]  # without the .pth files of the checkout

    ended = subprocess.run(
        [sys.executable, "-S", "-I", "-c", IMPORTS, *path, *libraries, PACKAGES[name], absent],
        capture_output=True,
        text=True,
        check=False,
    )

    assert (ended.returncode, ended.stdout) == (0, "\n"), ended.stderr


def test_the_command_alone_checks_the_fields_of_pods(unpacked: Mapping[str, Path], tmp_path: Path) -> None:
    job = tmp_path / "job.yaml"
    job.write_text((ROOT / "examples/qcnn.yaml").read_text().replace("image:", "imige:"))
    path = [*(str(unpacked[each]) for each in (COMMAND, CONTRACT, OPERATOR)), sysconfig.get_path("purelib")]

    ended = subprocess.run(
        [sys.executable, "-S", "-I", "-c", VALIDATE, *path, job], capture_output=True, text=True, check=False
    )

    assert ended.returncode == 2
    assert "Kubernetes does not have this field: write image" in ended.stdout + ended.stderr


def installed(factory: pytest.TempPathFactory, name: str, *wheels: Path) -> Path:
    """Returns the Python of an environment with these and what they ask for alone."""
    pins = ("-c", ROOT / "requirements" / "dev.txt")
    return filled_once(factory, name, lambda folder: made(folder, *pins, *wheels)) / "bin" / "python"


@pytest.fixture(scope="module")
def simulator(wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the simulator alone."""
    return installed(tmp_path_factory, "simulator-alone", wheels[CONTRACT], wheels[SIMULATOR])


def test_the_simulator_alone_computes_a_gradient(simulator: Path) -> None:
    ended = subprocess.run([simulator, "-I", "-c", GRADIENT], capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    angles = (0.375, 0.625)
    slopes = [-math.sin(angle) for angle in angles]
    assert [float(each) for each in ended.stdout.split()] == pytest.approx(
        [*map(math.cos, angles), *slopes, sum(slopes)], abs=1e-12
    )


def test_the_simulator_brings_numpy_and_cirq_alone(simulator: Path) -> None:
    beside, size = subprocess.check_output([simulator, "-I", "-c", BROUGHT], text=True).splitlines()

    assert beside == "quantumtrainingjob-contract quantumtrainingjob-simulator"
    assert int(size) < 10e6


def test_a_layer_of_the_simulator_alone_says_what_it_needs(simulator: Path) -> None:
    ended = subprocess.run([simulator, "-I", "-c", LAYER], capture_output=True, text=True, check=False)

    assert ended.stderr.splitlines()[-1] == (
        "ImportError: PQC needs TensorFlow: install quantumtrainingjob-simulator with its extra tensorflow"
    )


@pytest.fixture(scope="module")
def trainer(wheels: Mapping[str, Path], tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the trainer without its extras."""
    needed = (CONTRACT, REPORT, SIMULATOR, TRAINER)
    return installed(tmp_path_factory, "trainer-alone", *(wheels[each] for each in needed))


def test_a_program_needs_no_tensorflow(trainer: Path, tmp_path: Path) -> None:
    (tmp_path / "line.py").write_text(PROGRAM)

    ended = subprocess.run([trainer, "line.py"], cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.returncode == 0, ended.stderr
    assert "tensorflow" not in {path.name for path in trainer.parents[1].rglob("site-packages/*")}
    [line] = [line for line in ended.stdout.splitlines() if line.startswith("slope")]
    assert float(line.split()[1]) == pytest.approx(3.0, abs=1e-3)
    assert list((tmp_path / "qtj-artifacts").rglob("events.out.tfevents.*"))


def test_a_workload_without_tensorflow_says_what_it_needs(trainer: Path, tmp_path: Path) -> None:
    train = (trainer, "-m", "qtj_trainer", "train", "qcnn")
    ended = subprocess.run(train, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert ended.returncode == 1
    [line] = ended.stderr.splitlines()
    assert line.startswith("error: tensorflow, tf_keras, tensorflow_quantum cannot be imported: ")


@pytest.mark.parametrize("name", LIBRARIES)
def test_its_libraries_load(unpacked: Mapping[str, Path], name: str) -> None:
    program = "import ctypes, sys; [ctypes.CDLL(path) for path in sys.argv[1:]]"
    libraries = sorted(unpacked[name].rglob("*.so"))

    assert {library.name for library in libraries} == LIBRARIES[name]
    subprocess.run([sys.executable, "-c", program, *libraries], check=True)


@pytest.mark.parametrize("name", LIBRARIES)
def test_without_a_compiler_there_is_no_wheel(wheels: Mapping[str, Path], tmp_path: Path, name: str) -> None:
    python = wheels[name].parent / "venv" / "bin" / "python"

    ended = subprocess.run(
        [python, "-m", "hatchling", "build", "-t", "wheel", "-d", tmp_path],
        cwd=ROOT / FOLDERS[name],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )

    assert ended.returncode == 1
    assert "cannot be compiled: no C compiler: install gcc or set CC" in ended.stdout + ended.stderr
    assert not list(tmp_path.iterdir())
