"""Whatever a tracking server does, the training goes on: with its numbers, without a delay, with one line of log."""

import re

from tests.trainer.loops import Folder
from tests.trainer.odd_servers import answering, hanging
from tests.trainer.processes import Ended
from tools.background import free_ports

TRACKED = """
import time

from qtj_trainer import Program

program = Program(epochs=5)

import numpy as np

state = program.state(w=np.zeros(3))
began = time.perf_counter()
for epoch in program.epochs():
    state.w += 0.5 * (1 - state.w)
    epoch.report(loss=float(np.square(1 - state.w).sum()))
    time.sleep(0.05)
print(time.perf_counter() - began)
HERE
program.finish(state.w, {"mean": state.w.mean()})
print(time.perf_counter() - began)
"""

LATER = "the training goes on, and its numbers are sent later"


def tracked(job: Folder, uri: str, **environment: str) -> Ended:
    return job.run("pass", TRACKED, QTJ_TRACKING="mlflow", MLFLOW_TRACKING_URI=uri, **environment)


def lines_about_it(ended: Ended) -> list[str]:
    return [line for line in ended.errors.splitlines() if not re.match(r"epoch \d", line)]


def assert_trained(ended: Ended, job: Folder) -> None:
    """It has its weights, and no epoch has waited: five of 0.05 s, on a machine that may be busy."""
    assert ended.code == 0, ended.errors
    assert ended.weights.uri.startswith(job.path.as_uri())
    assert float(ended.output.split()[0]) < 8
    assert len(re.findall(r"^epoch", ended.errors, re.MULTILINE)) == 5


def test_no_server_is_one_line(job: Folder) -> None:
    (port,) = free_ports(1)

    ended = tracked(job, f"http://127.0.0.1:{port}")

    assert_trained(ended, job)
    assert lines_about_it(ended) == [f"MLflow at http://127.0.0.1:{port}: Connection refused: {LATER}"]


def test_a_server_that_hangs_delays_no_epoch(job: Folder) -> None:
    with hanging() as url:
        ended = tracked(job, url)

    assert_trained(ended, job)
    (line,) = lines_about_it(ended)
    assert line.startswith((f"MLflow at {url}: it has not answered in time", f"MLflow at {url}: no answer within 10 s"))


def test_of_several_workers_the_leader_alone_asks_and_a_wrong_token_is_one_line(job: Folder) -> None:
    job.path.mkdir()
    program = job.path / "program.py"
    program.write_text(TRACKED.replace("HERE", "pass"))
    variables = {"QTJ_TRACKING": "mlflow", "QTJ_ARTIFACTS_URI": str(job.path / "artifacts"), "QTJ_JOB_UID": "uid-1"}

    with answering(401, '{"message": "Not\\nyou"}') as server:
        workers = job.trainer.start_programs(2, program, **variables, MLFLOW_TRACKING_URI=server.url)
        ended = [process.end() for process in workers]

    assert [each.code for each in ended] == [0, 0], ended[0].errors
    about_it = [line for line in lines_about_it(ended[0]) if "MLflow" in line]
    assert about_it == [f"MLflow at {server.url}: 401 Not you: the training goes on without it"]
    assert "MLflow" not in ended[1].errors
    assert len(server.asked) == 1


def test_a_mistake_in_the_variables_is_one_line(job: Folder) -> None:
    ended = tracked(job, "sqlite:///mlflow.db")

    assert_trained(ended, job)
    (line,) = lines_about_it(ended)
    assert line.startswith("this training is not tracked: QTJ_TRACKING is mlflow, and MLFLOW_TRACKING_URI names no")


def test_nobody_is_asked_unless_the_variable_says_so(job: Folder) -> None:
    with answering(500) as server:
        ended = job.run("pass", TRACKED, MLFLOW_TRACKING_URI=server.url)

    assert_trained(ended, job)
    assert lines_about_it(ended) == []
    assert server.asked == []


def test_a_program_that_fails_keeps_its_error(job: Folder) -> None:
    (port,) = free_ports(1)

    ended = job.run(
        "raise RuntimeError('mine')", TRACKED, QTJ_TRACKING="mlflow", MLFLOW_TRACKING_URI=f"http://127.0.0.1:{port}"
    )

    assert ended.code == 1
    assert ended.errors.rstrip().endswith("RuntimeError: mine")
