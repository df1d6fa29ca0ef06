"""`spec.program` in a file: what the commands that start nothing say about it."""

from pathlib import Path

import pytest

from tests.cli.good_job import GOOD
from tests.cli.qtj import qtj, validated

JOB = GOOD.replace("\nspec:\n", "\nspec:\n  program: {configMap: iris, entry: iris.py}\n")
CONFIG_MAP = "---\napiVersion: v1\nkind: ConfigMap\nmetadata: {name: iris}\ndata:\n"


def test_the_plan_names_the_program(folder: Path) -> None:
    (folder / "job.yaml").write_text(JOB)

    answer = qtj("plan", "job.yaml")

    assert "  program    iris.py of the ConfigMap iris" in answer.output.splitlines()


ITEMS = JOB.replace(
    "entry: iris.py}",
    "entry: iris.py, items: [{key: iris.py, path: iris.py}, {key: lib_nets.py, path: lib/nets.py}]}",
)


def test_its_arguments_are_not_those_of_the_trainer(folder: Path) -> None:
    job = JOB.replace("registry.example/mine:1", "localhost/qtj-trainer:1")
    (folder / "job.yaml").write_text(f"{job}          args: [--no-option-of-the-trainer]\n")

    assert (qtj("validate", "job.yaml").code, qtj("validate", "job.yaml").errors) == (0, "")


@pytest.mark.parametrize(
    ("job", "more", "sentence"),
    [
        (JOB.replace("iris.py", "src/iris.py"), "", "must be a key of the ConfigMap that ends with .py, such as train"),
        (JOB.replace(", entry: iris.py", ""), "", "job.yaml:6: spec.program.entry: "),
        (JOB.replace("iris,", "Iris,"), "", "spec.program.configMap: must be the name of a ConfigMap: lowercase"),
        (
            JOB,
            f"{CONFIG_MAP}  train.py: x\n",
            "job.yaml:6: spec.program.entry: there is no iris.py in the ConfigMap iris, which has train.py",
        ),
        (
            ITEMS,
            f"{CONFIG_MAP}  iris.py: x\n",
            "spec.program.items[1].key: there is no lib_nets.py in the ConfigMap iris, which has iris.py",
        ),
        (
            ITEMS.replace("lib/nets.py", "iris.py"),
            f"{CONFIG_MAP}  iris.py: x\n  lib_nets.py: x\n",
            "spec.program.items[1].path: two items have the path iris.py: each file needs its own",
        ),
        (
            ITEMS.replace("lib/nets.py", "iris.py/x.csv"),
            f"{CONFIG_MAP}  iris.py: x\n  lib_nets.py: x\n",
            "spec.program.items[1].path: iris.py/x.csv and iris.py cannot both be there: one is a folder for the other",
        ),
        (ITEMS.replace("path: iris.py", "path: a.py"), "", "items must have the path of entry: list every file"),
        (ITEMS.replace("lib/nets", "../nets"), "", "spec.program.items[1].path: must be the path of a file below the"),
        (ITEMS.replace("lib_", "lib/"), "", "spec.program.items[1].key: must be a key of the ConfigMap: letters, di"),
        (
            JOB,
            f"{CONFIG_MAP}  iris.py: {'x' * ((1 << 20) + 1)}\n",
            "and a ConfigMap may hold 1,048,576: leave something out",
        ),
    ],
    ids=[
        "a path",
        "no entry",
        "a name",
        "another key",
        "no key",
        "one path",
        "a file as a folder",
        "no item",
        "a parent",
        "no key name",
        "too large",
    ],
)
def test_a_mistake_is_one_sentence_with_its_line(folder: Path, job: str, more: str, sentence: str) -> None:
    answer = validated(folder, job + more)

    assert answer.code == 2
    assert sentence in answer.errors
    assert len(answer.errors.splitlines()) == 1, answer.errors


REQUIRING = JOB.replace("entry: iris.py}", "entry: iris.py, requirements: {file: r.txt}}")
PROGRAM = f"{CONFIG_MAP}  iris.py: x\n"


@pytest.mark.parametrize(
    ("job", "text", "sentence"),
    [
        (
            REQUIRING,
            None,
            "requirements.file: there is no r.txt in the ConfigMap iris, which has iris.py",
        ),
        (
            REQUIRING,
            "tiny==1.0 --hash=sha256:00\nother>=2  # why",
            "other>=2 in r.txt has no --hash=: add hashes to all",
        ),
        (REQUIRING, "-r base.txt", "r.txt names the file base.txt, which the ConfigMap lacks: write its lines into"),
        (REQUIRING.replace("file: r.txt", "hashes: Optional"), "", "named by either packages or file"),
    ],
    ids=["no file", "no hash", "another file", "no packages"],
)
def test_so_is_one_in_the_requirements(folder: Path, job: str, text: str | None, sentence: str) -> None:
    file = "" if text is None else "  r.txt: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    answer = validated(folder, job + PROGRAM + file)

    assert answer.code == 2
    assert sentence in answer.errors
    assert len(answer.errors.splitlines()) == 1, answer.errors


@pytest.mark.parametrize(
    ("hashes", "text"), [("", "tiny==1.0 \\\n    --hash=sha256:00\n-i https://x"), (", hashes: Optional", "tiny")]
)
def test_requirements_with_hashes_or_leave_to_go_without_are_accepted(folder: Path, hashes: str, text: str) -> None:
    file = "  r.txt: |\n" + "".join(f"    {line}\n" for line in text.splitlines())
    answer = validated(folder, REQUIRING.replace("file: r.txt", f"file: r.txt{hashes}") + PROGRAM + file)

    assert (answer.code, answer.errors) == (0, "")
