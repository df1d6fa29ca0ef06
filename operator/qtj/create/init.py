"""`qtj init`: a new job to start from, as YAML and, except for the built-in model, a program beside it.

The programs are those of examples/: a wheel has them in its folder `programs`, a checkout where they are.
"""

import ast
import re
import sys
from dataclasses import dataclass
from importlib.machinery import PathFinder
from pathlib import Path
from string import Template
from textwrap import indent

from qtj.checks.job import job_mistakes
from qtj.checks.study import study_of
from qtj.create.prompt import JobOptions, Kind
from qtj.files.documents import Document, Documents
from qtj.files.yaml_reader import documents_of, value_of
from qtj.terminal.errors import InputError
from qtj_contract.version import installed_version
from qtj_operator.api.artifacts import unusable_bucket
from qtj_operator.api.names import NAME_PATTERN, NEWEST_API_VERSION

__all__ = ["write_job"]


@dataclass(frozen=True, slots=True)
class _Recipe:
    """The differences between the files of the kinds.

    Attributes:
        title: What it trains, for the first line.
        qubits: Qubits of its circuit; None without one.
        program: The example that becomes its program; None for the built-in trainer.
        memory: How much a worker may take.
        keeps_files: Whether the program stores into a folder, which is a volume on a cluster, rather than a bucket.
    """

    title: str
    qubits: int | None
    program: str | None
    memory: str = "2Gi"
    keeps_files: bool = False


_RECIPES = {
    Kind.QCNN: _Recipe("A quantum convolutional network, by the trainer of QuantumTrainingJob", 8, None),
    Kind.CIRCUIT: _Recipe("Your own circuit in a Keras model", 4, "own_circuit.py"),
    Kind.KERAS: _Recipe("Your own Keras model", None, "own_program.py"),
    Kind.LOOP: _Recipe(
        "Your own training loop, with only Python's standard library",
        qubits=None,
        program="own_loop.py",
        memory="256Mi",
        keeps_files=True,
    ),
    Kind.VQE: _Recipe("The ground state of an Ising chain, with NumPy", None, "vqe.py", memory="1Gi"),
    Kind.QAOA: _Recipe("The largest cut of a graph, with NumPy", None, "qaoa.py", memory="1Gi"),
    Kind.CLASSIFIER: _Recipe(
        "Which species an iris is, with NumPy; it needs scikit-learn", None, "classifier.py", memory="1Gi"
    ),
    Kind.STUDY: _Recipe("Three learning rates, each with five seeds", None, "vqe.py", memory="1Gi"),
}

_JOB = Template("""\
# $title.
#     qtj run $name.yaml             trains it on this machine
#     kubectl apply -f $name.yaml    trains it on a cluster, once artifacts and image are yours
apiVersion: $api_version
kind: QuantumTrainingJob
metadata:
  name: $name
spec:
  strategy: MultiWorkerMirrored # all workers take each step together; if one fails, all continue from a checkpoint
$circuit  artifacts:
    uri: $artifacts # on a cluster; qtj run stores weights and results in ./qtj-artifacts
  inference: $inference
  replicaSpecs:
    Worker:
      replicas: $workers
  template: # a pod template, as in a Deployment
    spec:
      containers:
        - name: trainer
          image: localhost/qtj-trainer:$version # your image; qtj run does not pull it
$program
          resources: # for a cluster: qtj run does not enforce the memory
            requests: {cpu: 250m, memory: $memory}
            limits: {memory: $memory}
$volume""")
_STUDY = Template("""\
# $title: the ground state of an Ising chain.
#     qtj run $name.yaml             runs all of them on this machine
#     qtj report $name               shows the table, and writes its page
#     kubectl apply -f $name.yaml    runs them on a cluster, once artifacts and image are yours
apiVersion: $api_version
kind: QuantumTrainingStudy
metadata:
  name: $name
spec:
  parameters:
    - name: learning-rate # the program gets --learning-rate=0.01
      values: [0.01, 0.03, 0.1]
  seeds:
    count: 5 # and --seed=0 to --seed=4
  objective:
    metric: error # how far the energy is above the lowest one; the smallest is best
  jobTemplate: # the spec of a QuantumTrainingJob
$template""")
_VOLUME = Template("""\
          volumeMounts:
            - {name: artifacts, mountPath: /artifacts}
      volumes: # for a cluster: qtj run uses a folder instead
        - name: artifacts
          persistentVolumeClaim: {claimName: $name} # a volume that all pods may write to
""")
_OWN = "          command: [python, $file] # relative to the current folder; in the image, to its WORKDIR"
_BUILT_IN = (
    "          args: [train, qcnn, --epochs=$epochs, --batch-size=16] # all: python -m qtj_trainer train qcnn --help"
)


def write_job(options: JobOptions, folder: Path) -> list[Path]:
    """Writes the files of a new job; returns them.

    Raises:
        InputError: The job would not be valid, or a file is already there. Nothing was written then.
    """
    files = _files(options)
    for name in files:
        if (folder / name).exists() or (folder / name).is_symlink():
            raise InputError(f"{name} is already here: give the new job another name with --name, or move the file")
    made: list[Path] = []
    try:
        for name, text in files.items():
            with (folder / name).open("x") as file:
                made.append(folder / name)
                file.write(text)
    except OSError as problem:
        for path in made:  # the disk is full: half a file would prevent the next try
            path.unlink()
        raise InputError(f"cannot write {name} here ({problem.strerror}): run qtj init in another folder") from None
    return made


def _files(options: JobOptions) -> dict[str, str]:
    recipe, name = _RECIPES[options.kind], options.name or f"my-{options.kind}"
    job, file = f"{name}.yaml", f"{name.replace('-', '_')}.py"
    if not re.fullmatch(NAME_PATTERN, name):
        raise InputError(f'--name "{name}": a name must start with a letter and hold only a-z, 0-9 and -')
    if not isinstance(value_of(next(documents_of(name, name))), str):
        raise InputError(f"--name {name}: YAML reads that as a value: choose another name")
    if recipe.program and (hidden := _hidden_by(Path(file).stem, recipe.program)):
        raise InputError(f"--name {name}: {file} would hide {hidden}: choose another name")
    if recipe.keeps_files and options.artifacts:
        raise InputError(
            f"--artifacts {options.artifacts}: the program of {options.kind} stores into a folder: leave it out"
        )
    if options.artifacts and not options.artifacts.startswith(("gs://", "file:///")):
        raise InputError(f"--artifacts {options.artifacts}: write an address, gs://BUCKET/PATH or file:///PATH")
    if options.artifacts and (why := unusable_bucket(options.artifacts)):
        raise InputError(f"--artifacts {options.artifacts}: it {why}")
    text = (_study if options.kind == Kind.STUDY else _job)(options, recipe, name, file)
    try:
        node = next(documents_of(job, text))
    except InputError:  # the rest of it is ours
        raise InputError(f"--artifacts {options.artifacts}: YAML does not read that as an address") from None
    document = Document(value_of(node), job, node)
    if options.kind == Kind.STUDY:
        study_of(Documents(job, [document], ()))
    elif wrong := list(job_mistakes(document)):
        raise InputError("\n".join(wrong))
    return {job: text} if recipe.program is None else {job: text, file: _program(recipe.program, file, options.epochs)}


def _hidden_by(module: str, program: str) -> str | None:
    """Returns what Python would no longer find beside a file of this name: it looks in the program's folder first."""
    if module in sys.stdlib_module_names:
        return "a module of Python itself"
    elsewhere = [path for path in sys.path if path and Path(path).resolve() != Path.cwd()]
    if module in _imported(program) or PathFinder.find_spec(module, elsewhere):
        return f"the library {module}"
    return None


def _imported(program: str) -> set[str]:
    """Returns the modules that a program imports, installed here or not."""
    nodes = list(ast.walk(ast.parse(_source(program).read_text())))
    plain = (alias.name for node in nodes if isinstance(node, ast.Import) for alias in node.names)
    parts = (node.module for node in nodes if isinstance(node, ast.ImportFrom) and node.module)
    return {name.partition(".")[0] for name in (*plain, *parts)}


def _study(options: JobOptions, recipe: _Recipe, name: str, file: str) -> str:
    """Returns a study of the job of a recipe, without its inference: the training measures all that is compared."""
    spec = _job(options, recipe, name, file).partition("\nspec:\n")[2]
    lines = (line for line in spec.splitlines(keepends=True) if not line.startswith("  inference:"))
    template = indent("".join(lines), "  ")
    return _STUDY.substitute(title=recipe.title, name=name, api_version=NEWEST_API_VERSION, template=template)


def _job(options: JobOptions, recipe: _Recipe, name: str, file: str) -> str:
    program = Template(_OWN if recipe.program else _BUILT_IN).substitute(file=file, epochs=options.epochs)
    again = "{} # the same program again, to evaluate the stored weights"
    return _JOB.substitute(
        title=recipe.title,
        name=name,
        circuit=f"  circuit:\n    qubits: {recipe.qubits}\n" if recipe.qubits else "",
        artifacts=options.artifacts
        or (f"file:///artifacts/{name}" if recipe.keeps_files else f"gs://your-bucket/{name}"),
        volume=_VOLUME.substitute(name=name) if recipe.keeps_files else "",
        inference=again if recipe.program else "{args: [infer]} # evaluates the stored weights",
        workers=options.workers,
        memory=recipe.memory,
        program=program,
        version=installed_version(),
        api_version=NEWEST_API_VERSION,
    )


def _program(example: str, file: str, epochs: int) -> str:
    text = _source(example).read_text()
    return re.sub(r"^EPOCHS = \d+", f"EPOCHS = {epochs}", text, flags=re.MULTILINE).replace(f"examples/{example}", file)


def _source(example: str) -> Path:
    packaged = Path(__file__).parent / "programs" / example
    return packaged if packaged.is_file() else Path(__file__).parents[3] / "examples" / example
