"""Jobs and programs in a notebook, on a real kernel."""

import json
import textwrap
from pathlib import Path
from typing import Any

import pytest

from tests.local.laptop import ENDLESS, Laptop, toy_job
from tests.python.kernel import Kernel, run_cells
from tools.background import wait_until

# jupyter_core leaves its event loop to the end of the process.
pytestmark = pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")

PROGRAM = """\
import numpy as np
from qtj_trainer import Program

program = Program(epochs=3)
if program.inferring:
    angle = program.load(np.zeros(2))
    program.report({"mean": float(angle.mean())}, predictions=angle, labels=np.ones(2))
state = program.state(angle=np.array([1.0, 2.0]))
for epoch in program.epochs():
    state.angle = state.angle / 2
    epoch.report(loss=float(state.angle.sum()))
program.finish(state.angle)
"""
BODY = PROGRAM.replace("epochs=3", "epochs=epochs").replace("/ 2", "* SCALE")
FUNCTION = f"SCALE = 0.5\n\ndef halves(epochs):\n{textwrap.indent(BODY, '    ')}"
CURVE = "[row['loss'] for row in run.history], [array.tolist() for array in run.weights().arrays().values()]"
LEARNED = "([1.5, 0.75, 0.375], [[0.125, 0.25]])"


def test_a_program_is_followed_and_its_results_are_those_of_the_command(laptop: Laptop) -> None:
    (laptop.folder / "halves.py").write_text(PROGRAM)

    _, followed, shown, curve, predictions, report, page = run_cells(
        laptop.folder,
        'import qtj\nrun = qtj.Job.from_program("halves.py").run()',
        "run.follow()",
        "run",
        CURVE,
        "run.predictions()",
        "print(run.report())",
        "run.report()",
    )

    assert followed == shown
    assert shown.startswith("<div><p><strong>halves/1 is Complete</strong>, epoch 3/3, loss 0.375</p><img src=")
    assert curve == LEARNED
    assert "<td>1</td><td>0.125</td>" in predictions
    assert laptop.qtj("report", "halves/1").output.startswith(report)
    assert page.startswith("<iframe srcdoc=")
    assert laptop.qtj("run", "halves.py", "--fresh").code == 0
    assert [each["loss"] for each in report_of(laptop, 2)["history"]] == [1.5, 0.75, 0.375]
    assert report_of(laptop, 2)["metrics"] == report_of(laptop, 1)["metrics"]


def report_of(laptop: Laptop, run: int) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(laptop.qtj("report", f"halves/{run}", "-o", "json").output)
    return found


def test_a_function_of_a_cell_trains_with_the_values_of_the_notebook(laptop: Laptop) -> None:
    *_, curve, logs = run_cells(
        laptop.folder,
        FUNCTION,
        'import qtj\nrun = qtj.Job.from_function(halves, {"epochs": 3}).run().wait(100)',
        CURVE,
        'print(run.logs("worker-0"))',
    )

    assert curve == LEARNED
    assert "epoch 3/3" in logs


def test_the_stop_button_ends_the_look_and_not_the_job(laptop: Laptop) -> None:
    laptop.write(toy_job(ENDLESS))

    with Kernel(laptop.folder) as kernel:
        assert kernel.run('import qtj\nrun = qtj.Job.from_file("job.yaml").run()') == ""
        assert kernel.run("run.follow()", stop_at="toy/1 is Running") == "KeyboardInterrupt"
        assert kernel.run("print('waits'); run.wait()", stop_at="waits") == "KeyboardInterrupt"
        assert kernel.run("assert run.phase == 'Running'") == ""
        done = laptop.epoch()
        wait_until(lambda: laptop.epoch() > done)
        assert kernel.run("print(run.suspend())") == ""

    assert laptop.record()["status"]["phase"] in {"Suspended", "Running"}


def test_a_program_in_a_notebook_leaves_its_kernel_alive(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("QTJ_PROGRESS_LOG", raising=False)

    *_, alive, again, last = run_cells(tmp_path, PROGRAM, "print('alive', state.angle)", PROGRAM, "program.last.number")

    assert (alive, last) == ("alive [0.125 0.25 ]\n", "3")
    assert "epoch 3/3" in again
