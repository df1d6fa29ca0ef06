"""`qtj init` writes jobs that are valid and run to their end."""

import os
import pty
import subprocess

import pytest

from tests.local.laptop import QTJ, Laptop

EXAMPLES = ("qcnn", "circuit")
"""Kinds whose programs other tests run too: tests/local/test_trainer_here.py and tests/trainer/test_program.py."""
FILES = {
    "qcnn": ["my-qcnn.yaml"],
    "circuit": ["my-circuit.yaml", "my_circuit.py"],
    "keras": ["my-keras.yaml", "my_keras.py"],
    "loop": ["my-loop.yaml", "my_loop.py"],
    "vqe": ["my-vqe.yaml", "my_vqe.py"],
    "qaoa": ["my-qaoa.yaml", "my_qaoa.py"],
    "classifier": ["my-classifier.yaml", "my_classifier.py"],
}


@pytest.mark.parametrize("kind", FILES)
def test_a_new_job_is_valid(laptop: Laptop, kind: str) -> None:
    made = laptop.qtj("init", kind, "--epochs", "2")
    files = sorted(path.name for path in laptop.folder.iterdir())
    checked = laptop.qtj("validate", f"my-{kind}.yaml")

    assert made.output == f"wrote {' and '.join(FILES[kind])}; next: qtj run my-{kind}.yaml\n", made.errors
    assert files == FILES[kind]
    assert checked.output == f"my-{kind}.yaml: my-{kind} is valid\n"


@pytest.mark.parametrize("kind", ["keras", "loop", *(pytest.param(kind, marks=pytest.mark.slow) for kind in EXAMPLES)])
def test_a_new_job_runs_to_its_end(laptop: Laptop, kind: str) -> None:
    laptop.qtj("init", kind, "--epochs", "2")

    ended = laptop.qtj("run", f"my-{kind}.yaml", "-o", "json")

    assert ended.code == 0, ended.errors
    assert (ended.status["phase"], ended.status["progress"]["epoch"]) == ("Complete", 2)
    assert ended.status["inference"]["metrics"]
    curves = list(laptop.folder.glob("qtj-artifacts/*/1/logs/*/train/*tfevents*"))
    assert bool(curves) == (kind != "loop"), "its program has no trainer, and writes no curves"


@pytest.mark.parametrize(
    ("kind", "metric", "least", "most"),
    [("vqe", "relative_error", 0.0, 0.01), ("qaoa", "ratio", 0.9, 1.0), ("classifier", "accuracy", 0.85, 1.0)],
)
def test_a_new_quantum_program_comes_close_to_the_exact_answer(
    laptop: Laptop, kind: str, metric: str, least: float, most: float
) -> None:
    laptop.qtj("init", kind)

    ended = laptop.start("run", f"my-{kind}.yaml", "-o", "json").end(seconds=400)

    assert ended.code == 0, ended.errors
    assert least <= ended.status["inference"]["metrics"][metric] <= most
    assert ended.status["inference"]["metrics"] == pytest.approx(ended.status["metrics"])


def test_a_new_study_compares_learning_rates_and_seeds(laptop: Laptop) -> None:
    made = laptop.qtj("init", "study", "--epochs", "1")
    assert made.output == "wrote my-study.yaml and my_study.py; next: qtj run my-study.yaml\n", made.errors
    study = laptop.folder / "my-study.yaml"
    study.write_text(study.read_text().replace("count: 5", "count: 2").replace("0.01, 0.03, 0.1", "0.0001, 0.1"))

    ended = laptop.start("run", "my-study.yaml", "--parallel", "2").end(seconds=400)

    assert ended.code == 0, ended.errors
    assert "error of 4/4 trials" in ended.output
    [best] = [line for line in ended.output.splitlines() if line.endswith("best")]
    assert best.startswith("0.1 ")
    assert "is the same for all" not in ended.output, "the seed changes the result"


def test_flags_say_what_is_in_the_files(laptop: Laptop) -> None:
    laptop.qtj("init", "keras", "--name", "mine", "--workers", "3", "--epochs", "7", "--artifacts", "gs://bucket/c")

    job = (laptop.folder / "mine.yaml").read_text()
    assert "  name: mine\n" in job
    assert "uri: gs://bucket/c #" in job
    assert "replicas: 3\n" in job
    assert "command: [python, mine.py]" in job
    assert "\nEPOCHS = 7\n" in (laptop.folder / "mine.py").read_text()


@pytest.mark.parametrize("there", FILES["keras"])
def test_no_file_is_overwritten(laptop: Laptop, there: str) -> None:
    (laptop.folder / there).write_text("mine")

    made = laptop.qtj("init", "keras")

    assert made.code == 2
    assert made.errors == (
        f"qtj: {there} is already here: give the new job another name with --name, or move the file\n"
    )
    assert [(path.name, path.read_text()) for path in laptop.folder.iterdir()] == [(there, "mine")]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        ((), "no kind is named: write qtj init KIND, one of qcnn, circuit, keras, loop, vqe, qaoa, classifier, study"),
        (("keras", "--name", "../x"), '--name "../x": a name must start with a letter and hold only a-z, 0-9 and -'),
        (("keras", "--artifacts", "s3://b"), "--artifacts s3://b: write an address, gs://BUCKET/PATH or file:///PATH"),
        (("keras", "--artifacts", "gs:/x"), "--artifacts gs:/x: write an address, gs://BUCKET/PATH or file:///PATH"),
        (("keras", "--artifacts", "gs://B"), "--artifacts gs://B: it names no valid bucket: write gs://BUCKET/PATH"),
        (("keras", "--artifacts", "a: b: c"), "--artifacts a: b: c: write an address, gs://BUCKET/PATH"),
        (("keras", "--artifacts", "gs://lab/a: b: c"), "--artifacts gs://lab/a: b: c: YAML does not read that"),
        (("loop", "--artifacts", "gs://b/c"), "--artifacts gs://b/c: the program of loop stores into a folder"),
        (("qcnn", "--name", "a" * 60), "aaa"),
    ],
)
def test_a_job_that_would_not_be_valid_is_not_written(
    laptop: Laptop, arguments: tuple[str, ...], sentence: str
) -> None:
    made = laptop.qtj("init", *arguments)

    assert made.code == 2
    assert made.errors.startswith(f"qtj: {sentence}")
    assert made.errors.count("\n") == 1
    assert list(laptop.folder.iterdir()) == []


def test_on_a_terminal_it_asks(laptop: Laptop) -> None:
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        [*QTJ, "init"], cwd=laptop.folder, env=laptop.environment(), stdin=theirs, stdout=theirs, stderr=theirs
    )
    os.close(theirs)
    os.write(ours, b"loop\nasked\n\n3\n")  # ENTER takes what is offered: one worker

    code = process.wait(30)
    os.close(ours)

    assert code == 0
    assert "replicas: 1\n" in (laptop.folder / "asked.yaml").read_text()
    assert "\nEPOCHS = 3\n" in (laptop.folder / "asked.py").read_text()


@pytest.mark.parametrize(
    ("kind", "name", "sentence"),
    [
        ("loop", "json", "--name json: json.py would hide a module of Python itself: choose another name"),
        ("circuit", "cirq", "--name cirq: cirq.py would hide the library cirq: choose another name"),
        ("circuit", "numpy", "--name numpy: numpy.py would hide the library numpy: choose another name"),
        (
            "loop",
            "qtj-trainer",
            "--name qtj-trainer: qtj_trainer.py would hide the library qtj_trainer: choose another name",
        ),
        ("qcnn", "true", "--name true: YAML reads that as a value: choose another name"),
        ("qcnn", "y", "--name y: YAML reads that as a value: choose another name"),
    ],
)
def test_a_name_that_would_break_what_is_written_is_refused(
    laptop: Laptop, kind: str, name: str, sentence: str
) -> None:
    ended = laptop.qtj("init", kind, "--name", name)

    assert (ended.code, ended.errors) == (2, f"qtj: {sentence}\n")
    assert list(laptop.folder.iterdir()) == []


@pytest.mark.parametrize(("kind", "name"), [("qcnn", "numpy"), ("loop", "class"), ("loop", "import")])
def test_a_name_that_hides_nothing_is_taken(laptop: Laptop, kind: str, name: str) -> None:
    ended = laptop.qtj("init", kind, "--name", name)

    assert ended.code == 0, ended.errors
    assert laptop.qtj("validate", f"{name}.yaml").output == f"{name}.yaml: {name} is valid\n"
