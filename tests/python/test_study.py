"""A study from Python: real runs of programs that need nothing but Python."""

import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pandas as pd  # type: ignore[import-untyped]
import pytest
import yaml

import qtj
from tests.cli.html_page import Page
from tests.local.laptop import REPOSITORY, Laptop
from tests.local.test_study_here import TRIAL, a_study, trained
from tools.background import wait_until

RATES = {"rate": [0.1, 0.3]}


@pytest.fixture
def job(laptop: Laptop) -> qtj.Job:
    (laptop.folder / "trial.py").write_text(Path(TRIAL).read_text())
    return qtj.Job.from_program("trial.py")


def test_a_program_is_run_with_every_value_and_seed_and_the_table_is_ready_for_pandas(
    laptop: Laptop, job: qtj.Job, capfd: pytest.CaptureFixture[str]
) -> None:
    study = qtj.Study(job, RATES, seeds=2, metric="mse")
    assert repr(study) == "<qtj.Study trial-study>"

    study.run(parallel=2)

    assert study.phase == "Complete"
    assert "mse of 4/4 trials" in capfd.readouterr().out
    table = pd.DataFrame(study.table())
    assert table["rate"].to_list() == [0.3, 0.1]
    assert table["mean"].to_list() == pytest.approx([0.005, 0.045])
    assert table["runs"].to_list() == [2, 2]
    assert study.best is not None
    assert study.best["parameters"] == {"rate": 0.3}
    assert sorted(study.trials().column("seed")) == [0, 0, 1, 1]
    assert "mse changes by -0.04 at each of 2 seeds" in repr(study)
    assert study._repr_html_().startswith("<pre>trial-study is Complete")
    page = Page.read(study.save("page.html", baseline={"rate": 0.1}))
    assert page.mistakes == []
    assert page.references[0] == "qtj-artifacts/trial-study/1/report.html"
    assert all(Path(each).is_file() for each in page.references)

    study.run()
    assert len(trained(laptop)) == 4, "what has run does not run again"


def test_a_function_gets_its_values_by_name(laptop: Laptop) -> None:
    base = 10

    def measure(rate: float, seed: int, factor: int) -> None:
        import json
        import os
        from pathlib import Path
        from urllib.parse import unquote, urlsplit

        found = {"jobUid": os.environ["QTJ_JOB_UID"], "metrics": {"score": base + factor * rate + seed}}
        folder = Path(unquote(urlsplit(os.environ["QTJ_ARTIFACTS_URI"]).path))
        (folder / "result.json").write_text(json.dumps(found))

    study = qtj.Study.from_function(
        measure, RATES, {"factor": 2}, seeds=2, metric="score", goal="Maximize", name="scores"
    ).run(parallel=2)

    assert study.table()[0]["rate"] == 0.3
    assert study.table()[0]["mean"] == pytest.approx(11.1)
    assert study.name == "scores"

    def without_seed(rate: float) -> None:
        print(rate)

    with pytest.raises(qtj.InputError, match=r"^without_seed cannot be called with these arguments: .*'seed'"):
        qtj.Study.from_function(without_seed, RATES, seeds=2)


def test_a_study_of_a_file_that_fails_is_the_sentence_of_the_command(laptop: Laptop) -> None:
    laptop.write(a_study("--break-at=0.1", failurePolicy={"maxFailedTrials": 0}))

    with pytest.raises(qtj.StudyFailedError, match=r"^rates is Failed: 1 trials failed, and failurePolicy\.max"):
        qtj.Study.from_file("job.yaml").run(parallel=1)


def test_failed_runs_are_run_again_when_that_is_asked(laptop: Laptop) -> None:
    place = str(laptop.folder / "mended")

    def measure(rate: float, place: str) -> None:
        import json
        import os
        from pathlib import Path
        from urllib.parse import unquote, urlsplit

        if rate < 0.2 and not Path(place).exists():
            raise RuntimeError("not yet")
        found = {"jobUid": os.environ["QTJ_JOB_UID"], "metrics": {"score": rate}}
        folder = Path(unquote(urlsplit(os.environ["QTJ_ARTIFACTS_URI"]).path))
        (folder / "result.json").write_text(json.dumps(found))

    study = qtj.Study.from_function(measure, {"rate": [0.1, 0.3]}, {"place": place}, metric="score", name="again")
    study.run()
    failed = [row["phase"] for row in study.trials()]
    Path(place).touch()

    study.run(resume=True)

    assert failed == ["Failed", "Complete"]
    assert [row["phase"] for row in study.trials()] == ["Complete", "Complete"]


def test_ctrl_c_stops_the_runs_and_the_same_call_goes_on(laptop: Laptop) -> None:
    program = "import qtj\nqtj.Study.from_file('job.yaml').run(parallel=1)\n"
    (laptop.folder / "mine.py").write_text(program)
    laptop.write(a_study("--hold-at=1"))
    running = subprocess.Popen([sys.executable, "mine.py"], stderr=subprocess.PIPE, start_new_session=True)
    wait_until(lambda: len(trained(laptop)) == 3)

    os.killpg(running.pid, signal.SIGINT)
    _, told = running.communicate(timeout=60)

    assert running.returncode == -signal.SIGINT
    assert told.splitlines()[-1] == b"KeyboardInterrupt"
    assert laptop.processes() == {}
    (laptop.folder / "released-here").touch()
    study = qtj.Study.from_file("job.yaml").run(parallel=1)
    assert len(study.trials()) == 4
    assert trained(laptop)[:3] == ["0.1 0", "0.3 0", "0.1 1"]
    assert len(trained(laptop)) == 5, "only the interrupted one began again"


def test_a_notebook_shows_the_table_again_and_again(
    job: qtj.Job, shown: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    qtj.Study(job, RATES, metric="mse").run(parallel=1)

    assert len(shown) > 1
    assert "trial-study is Complete" in shown[-1]
    assert all(text.startswith("<pre>") for text in shown)
    assert capfd.readouterr().out == ""


def test_a_job_in_yaml_keeps_its_settings_and_config_maps(laptop: Laptop) -> None:
    template = a_study()["spec"]["jobTemplate"]
    container = template["template"]["spec"]["containers"][0]
    container["envFrom"] = [{"configMapRef": {"name": "more"}}]
    data = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "more"}, "data": {"MORE": "1"}}
    job = {"apiVersion": "quantumtraining.dev/v1beta1", "kind": "QuantumTrainingJob", "metadata": {"name": "net"}}
    (laptop.folder / "job.yaml").write_text(yaml.safe_dump_all([data, {**job, "spec": template}]))

    made = qtj.Job.from_file("job.yaml", settings=["spec.runPolicy.backoffLimit=0"])

    assert made.objects()[1]["spec"]["runPolicy"] == {"backoffLimit": 0}
    assert qtj.Study(made, RATES, metric="mse").run(parallel=2).phase == "Complete"


def nameless() -> qtj.Job:
    Path("job.yaml").write_text("apiVersion: quantumtraining.dev/v1beta1\nkind: QuantumTrainingJob\n")
    return qtj.Job.from_file("job.yaml")


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (
            lambda job: qtj.Study(job, {"rate": "0.1"}),
            'parameters: rate is one text: write a list of values, such as ["',
        ),
        (
            lambda job: qtj.Study(job, {"rate": 0.1}),  # type: ignore[dict-item]
            "parameters: rate is one value: write a list of values, such as [0.1]",
        ),
        (lambda job: qtj.Study(job, {"rate": []}).run(), "<stdin>:"),
        (lambda job: qtj.Study(job, RATES).best, "trial-study has not run yet: call run()"),
        (lambda job: qtj.Study(nameless(), RATES), "job.yaml: metadata.name: a job needs a name"),
        (lambda job: qtj.Study.from_file("lost.yaml"), "lost.yaml: there is no such file"),
        (
            lambda job: qtj.Study.from_file(REPOSITORY / "examples/own-loop.yaml"),
            f"{REPOSITORY}/examples/own-loop.yaml has no study: use Job.from_file for a job",
        ),
        (lambda job: qtj.Study(job, RATES).run(parallel=0), "invalid value for '--parallel'"),
    ],
)
def test_a_mistake_is_the_sentence_of_the_command(job: qtj.Job, make: Any, sentence: str) -> None:
    with pytest.raises(qtj.InputError) as told:
        make(job)

    assert str(told.value).startswith(sentence)
