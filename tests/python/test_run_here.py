"""A job on this machine, from Python: real runs of programs that need nothing but Python."""

import asyncio
import json
import subprocess
import sys
from pathlib import Path

import pandas as pd  # type: ignore[import-untyped]
import pytest

import qtj
from tests.docs.blocks import blocks
from tests.local.laptop import ENDLESS, Laptop, toy_job
from tools.background import wait_until
from tools.docs.files import ROOT

PROGRAM = """\
import json, os, pathlib, sys
import beside
with open(os.environ["QTJ_PROGRESS_LOG"], "a") as log:
    for epoch in (1, 2):
        line = {"attempt": 1, "time": "2026-11-23T10:00:00Z", "epoch": epoch, "epochs": 2, "step": epoch}
        log.write(json.dumps({**line, "loss": 1 / epoch}) + "\\n")
print("ran in", pathlib.Path.cwd().name, "with", *sys.argv[1:])
sys.exit(beside.CODE)
"""


@pytest.fixture
def program(laptop: Laptop) -> Path:
    """A program in another folder than the current one."""
    folder = laptop.folder / "code"
    folder.mkdir()
    (folder / "train.py").write_text(PROGRAM)
    (folder / "beside.py").write_text("CODE = 0\n")
    return folder / "train.py"


def test_a_program_runs_to_its_end_and_its_epochs_are_a_table(program: Path, capfd: pytest.CaptureFixture[str]) -> None:
    run = qtj.Job.from_program("code/train.py", ["--seed", 1]).run()
    run.follow()

    assert run.wait(60).phase == "Complete"
    assert run.name == "train/1"
    assert run.logs() == "ran in code with --seed 1\n"
    assert pd.DataFrame(run.history).to_dict("list") == {"epoch": [1, 2], "attempt": [1, 1], "loss": [1.0, 0.5]}
    assert "train is Complete" in capfd.readouterr().out


def test_a_job_of_a_file_gives_all_that_it_has_stored(laptop: Laptop) -> None:
    laptop.write(toy_job(3))

    run = qtj.Job.from_file("job.yaml", settings=["spec.runPolicy.backoffLimit=0"]).run().wait(120)

    assert run.history[-1]["epoch"] == 3, "what was polled"
    assert run.metrics == {"mse": 0.5}
    assert run.status["phase"] == "Complete"
    assert run.weights().save(laptop.folder).read_bytes() == b"weights"
    with pytest.raises(qtj.InputError, match=r"^weights\.h5 is no file of NumPy: save\(\) writes them"):
        run.weights().arrays()
    assert run.predictions() == [
        {"label": "high", "prediction": "high"},
        {"label": "low", "prediction": "high"},
    ]
    assert repr(run.report()).startswith("toy is Complete: inference is done: mse 0.5")
    assert run.report().save("page.html").read_text().endswith("</html>\n")
    assert "epoch 3/3" in run.logs("worker-0")
    assert "<strong>toy/1 is Complete</strong>, epoch 3/3, loss " in run._repr_html_()
    assert qtj.Handle.here("toy").name == "toy/1"


def test_a_failed_job_is_the_sentence_of_the_command(program: Path) -> None:
    (program.parent / "beside.py").write_text("CODE = 3\n")
    settings = ["spec.runPolicy.backoffLimit=0"]

    run = qtj.Job.from_program(program, name="net", settings=settings).run()

    with pytest.raises(qtj.JobFailedError, match=r"^net is Failed: net-worker-0 .*exit code 3"):
        run.wait(60)
    with pytest.raises(
        qtj.InputError, match=r"^net/1 has stored no weights yet: they come at the end of its training$"
    ):
        run.weights()
    (program.parent / "beside.py").write_text("CODE = 0\n")
    assert run.resume() == "net/1 is resumed: it continues from its last checkpoint"
    assert run.wait(60).phase == "Complete"


def test_a_run_is_suspended_resumed_and_deleted(laptop: Laptop, monkeypatch: pytest.MonkeyPatch) -> None:
    laptop.write(toy_job(ENDLESS))
    (laptop.folder / "other").mkdir()
    run = qtj.Job.from_file("job.yaml").run()
    monkeypatch.chdir("other")  # as a notebook may
    wait_until(laptop.trains)

    with pytest.raises(qtj.NotFinishedError, match=r"^toy/1 has not finished within 0\.1 s: it goes on$"):
        run.wait(0.1)
    with pytest.raises(qtj.InputError, match=r"^toy/1 stays: "):
        run.delete()
    assert run.suspend() == "toy/1 is Suspended: `qtj run` of its file continues it"
    with pytest.raises(qtj.NotFinishedError, match=r"^toy/1 is Interrupted: it was stopped"):
        run.wait(60)
    done = laptop.epoch()
    run.resume()
    wait_until(lambda: laptop.epoch() > done)
    run.suspend()
    assert run.delete() == "toy/1 is deleted, with all that is in its folder"
    assert not laptop.artifacts().exists()


def test_it_works_where_an_event_loop_runs_as_in_a_notebook(program: Path) -> None:
    async def cell() -> str:
        run = qtj.Job.from_program(program).run()
        run.follow()
        return run.wait(60).phase

    assert asyncio.run(cell()) == "Complete"


def test_a_function_runs_with_what_it_uses(laptop: Laptop) -> None:
    scale, rates = 2, [0.5, 0.25]

    def scaled(number: float) -> float:
        return scale * number

    def train_net(epochs: int) -> None:
        print(json.dumps({"epochs": epochs, "rates": [scaled(each) for each in rates]}), Path.cwd().name)

    run = qtj.Job.from_function(train_net, {"epochs": 3}).run().wait(60)

    assert run.name == "train-net/1"
    assert run.logs() == '{"epochs": 3, "rates": [1.0, 0.5]} program\n'
    assert sorted(path.name for path in laptop.folder.iterdir()) == ["qtj-artifacts"], "nothing is left elsewhere"


def test_a_file_that_a_function_names_travels_with_it_if_it_is_text(laptop: Laptop) -> None:
    (laptop.folder / "data").mkdir()
    (laptop.folder / "data/rows.csv").write_text("1,2\n")
    (laptop.folder / "rows.bin").write_bytes(b"\xff")

    def reads() -> None:
        print(Path("data/rows.csv").read_text())

    def reads_numbers() -> None:
        print(Path("rows.bin").read_bytes())

    assert qtj.Job.from_function(reads).run().wait(60).logs() == "1,2\n\n"
    with pytest.raises(qtj.InputError, match=r"^reads_numbers names rows\.bin, and on this machine only text travels"):
        qtj.Job.from_function(reads_numbers).run()


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: qtj.Job.from_program("lost.py").run(), "lost.py: there is no such file"),
        (lambda: qtj.Job.from_program("wrong.py").run(), "wrong.py:1: this is not Python (invalid syntax): correct it"),
        (lambda: qtj.Job.from_program("job.yaml"), "job.yaml is no program in Python, whose name ends with .py: use "),
        (lambda: qtj.Job.from_file("wrong.py"), "wrong.py is a program in Python: use Job.from_program"),
        (lambda: qtj.Job.from_file("lost.yaml").run(), "lost.yaml: there is no such file"),
        (lambda: qtj.Job.from_file("two.yaml").run(), "two.yaml has 2 jobs, and a Job is one of them: put each into"),
        (
            lambda: qtj.Job.from_program("train.py", "--seed 1"),
            "args is a list of words, and this is one text: write [",
        ),
        (
            lambda: qtj.Job.from_program("train.py", {"seed": 1}),  # type: ignore[arg-type]
            'args is a list of words, and this is a dictionary: write ["--seed", 1], not {"seed": 1}',
        ),
        (lambda: qtj.Job.from_program("train.py", name="My").run(), '--name: "My" cannot be the name of a job: it st'),
        (lambda: qtj.Job.from_program("train.py", workers=0).run(), "invalid value for '--workers'"),
        (lambda: qtj.Handle.here("lost"), "the job lost was not run in this folder: `qtj list` shows what was"),
        (qtj.Handle.here, "there is no run in this folder yet: qtj run FILE starts one"),
    ],
)
def test_a_mistake_is_the_sentence_of_the_command(laptop: Laptop, make: object, sentence: str) -> None:
    (laptop.folder / "train.py").write_text("")
    (laptop.folder / "wrong.py").write_text("for")
    laptop.write(toy_job(name="one"), toy_job(name="two"), name="two.yaml")
    assert callable(make)

    with pytest.raises(qtj.InputError) as told:
        make()

    assert str(told.value).startswith(sentence)
    assert not (laptop.folder / "qtj-artifacts").exists()


def test_the_function_of_the_docs_trains_and_its_weights_are_arrays(laptop: Laptop) -> None:
    (text,) = (code.text for code in blocks(ROOT / "docs/how-to/python.md") if "def train" in code.text)
    (laptop.folder / "notebook.py").write_text(text)
    subprocess.run([sys.executable, "notebook.py"], check=True)

    run = qtj.Handle.here("train").wait(120)

    (angle,) = run.weights().arrays().values()
    assert float(angle) == pytest.approx(0.5 * 0.9**5)
    assert run.metrics == {"angle": angle}
    assert len(run.history) == 5


def test_only_the_last_run_is_resumed_and_a_study_is_no_job(laptop: Laptop) -> None:
    laptop.write(toy_job(epochs=ENDLESS))
    job = qtj.Job.from_file("job.yaml")
    first = job.run()
    laptop.epoch()
    first.suspend()
    second = job.run(fresh=True)

    with pytest.raises(qtj.InputError, match=r"^toy/2 was started or continued after toy/1: call run\(\) of"):
        first.resume()
    second.suspend()
    study = (ROOT / "examples/studies/learning-rate.yaml").read_text()
    (laptop.folder / "study.yaml").write_text(study)
    with pytest.raises(
        qtj.InputError, match=r"^study\.yaml has a study, and a Job is one job: qtj run study\.yaml runs"
    ):
        qtj.Job.from_file("study.yaml").run()


def test_what_a_program_needs_and_this_machine_lacks_is_told(program: Path, caplog: pytest.LogCaptureFixture) -> None:
    Path("requirements.txt").write_text("nothing-like-it==1.0\n")

    qtj.Job.from_program(program, requirements="requirements.txt").run().wait(60)

    assert [each for each in caplog.messages if "nothing-like-it" in each]
