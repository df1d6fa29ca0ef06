"""`qtj run` of a study as its user has it: processes, what they print, and what they leave behind."""

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from tests.local.laptop import REPOSITORY, Laptop, Manifest
from tools.background import wait_until

TRIAL = str(REPOSITORY / "tests/local/trial.py")


FORKS = """
from qtj_trainer import Program
import argparse
import tensorflow as tf
from pathlib import Path

given = argparse.ArgumentParser()
given.add_argument("--rate", type=float)
program = Program(epochs=1)
(parent,) = (line for line in Path("/proc/self/status").read_text().splitlines() if "PPid" in line)
words = Path(f"/proc/{parent.split()[1]}/cmdline").read_text()
with Path("parents").open("a") as parents:
    parents.write(words.strip(chr(0)).replace(chr(0), " ") + chr(10))
program.report({"mse": float(tf.square(given.parse_args().rate - 0.3))})
"""


def a_study(*arguments: str, **spec: Any) -> Manifest:
    """Two rates with two seeds."""
    container = {"name": "trainer", "image": "toy:1", "command": ["python", TRIAL], "args": list(arguments)}
    template = {
        "artifacts": {"uri": "gs://bucket/rates"},
        "replicaSpecs": {"Worker": {"replicas": 1}},
        "template": {"spec": {"containers": [container]}},
    }
    fields = {
        "jobTemplate": template,
        "parameters": [{"name": "rate", "values": [0.1, 0.3]}],
        "seeds": {"count": 2},
        "objective": {"metric": "mse"},
        **spec,
    }
    return {
        "apiVersion": "quantumtraining.dev/v1beta1",
        "kind": "QuantumTrainingStudy",
        "metadata": {"name": "rates"},
        "spec": fields,
    }


def trained(laptop: Laptop) -> list[str]:
    """Returns rate and seed of each training, in the order of their starts."""
    path = laptop.folder / "trained-here"
    return path.read_text().splitlines() if path.exists() else []


def test_every_rate_is_trained_with_every_seed_and_the_best_one_is_named(laptop: Laptop) -> None:
    laptop.write(a_study())

    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 0, ended.errors
    assert sorted(trained(laptop)) == ["0.1 0", "0.1 1", "0.3 0", "0.3 1"]
    lines = ended.output.splitlines()
    assert "rates is Complete" in lines
    assert "mse of 4/4 trials" in lines
    [best] = [line for line in lines if line.endswith("best")]
    assert best.split() == ["0.3", "2/2", "0.005", "±", "0.06353", "0.007071", "0", "0.01", "best"]
    assert "  rates/1  rate=0.1 seed=0  mse 0.04" in ended.output
    rows = (laptop.folder / "qtj-artifacts/rates/trials.csv").read_text().splitlines()
    assert rows[0] == "trial,rate,seed,phase,mse,message"
    assert rows[1] == f"1,0.1,0,Complete,{0.2**2 + 0.0},".replace("0.04000000000000001", str((0.1 - 0.3) ** 2))
    assert laptop.processes() == {}

    again = laptop.qtj("report", "rates")
    assert again.output.splitlines()[:-1] == lines[lines.index("rates is Complete") : -1]
    assert again.output.splitlines()[-1] == "page: qtj-artifacts/rates/report.html"
    data = json.loads(laptop.qtj("report", "rates", "-o", "json").output)
    assert data["status"]["best"]["parameters"] == {"rate": 0.3}
    assert laptop.qtj("report", "rates/3").code == 0, "a trial is a run as any other"


def test_the_best_rate_is_trained_again_with_other_seeds_also_after_an_interruption(laptop: Laptop) -> None:
    final = {"seeds": {"count": 2}, "parameters": {"hold-at": 3}}
    laptop.write(a_study(final=final))
    running = laptop.start("run", "job.yaml", "--parallel", "2")
    wait_until(lambda: "0.3 3" in trained(laptop))
    running.interrupt()
    assert running.end().code == 130

    (laptop.folder / "released-here").touch()
    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 0, ended.errors
    assert sorted(set(trained(laptop))) == ["0.1 0", "0.1 1", "0.3 0", "0.3 1", "0.3 2", "0.3 3"]
    assert trained(laptop).count("0.3 3") == 2, "the interrupted one"
    assert "rates  4 trials and 2 of the final training, 2 side by side" in ended.output
    assert "mse of 4/4 trials; 2/2 of the final training" in ended.output
    assert (
        "final training of rate=0.3 hold-at=3: 2 of 2 final trials have finished, with a mean mse of 0.025 ± 0.06353"
    ) in ended.output
    data = json.loads(laptop.qtj("report", "rates", "-o", "json").output)
    assert data["status"]["final"]["parameters"] == {"rate": 0.3, "hold-at": 3}
    assert [each.get("final") for each in data["status"]["trials"]] == [None] * 4 + [True] * 2


def test_the_trials_of_a_study_run_the_program_of_a_config_map_and_start_over_when_it_changes(laptop: Laptop) -> None:
    study = a_study(seeds={"count": 1})
    template = study["spec"]["jobTemplate"]
    del template["template"]["spec"]["containers"][0]["command"]
    template["program"] = {"configMap": "rates-1", "entry": "trial.py"}
    text = Path(TRIAL).read_text()
    files = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "rates-1"}, "data": {"trial.py": text}}
    laptop.write(study, files)

    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 0, ended.errors + ended.output
    assert "mse of 2/2 trials" in ended.output
    assert (laptop.folder / "qtj-artifacts/rates/1/program/trial.py").read_text() == text

    files["data"] = {"trial.py": f"{text}# another program\n"}
    laptop.write(study, files)
    assert "starts over, because" in laptop.qtj("run", "job.yaml", "--parallel", "2").output


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="only Linux forks trainers")
def test_all_trials_of_a_script_are_forked_from_one_process_that_has_imported_its_packages(laptop: Laptop) -> None:
    (laptop.folder / "forks.py").write_text(FORKS)
    study = a_study(seeds=None)
    (container,) = study["spec"]["jobTemplate"]["template"]["spec"]["containers"]
    container["command"] = ["python", "forks.py"]
    laptop.write(study)

    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 0, ended.errors
    parents = (laptop.folder / "parents").read_text().splitlines()
    assert len(parents) == 2
    assert all("qtj_trainer.fork_server" in each for each in parents), parents


def test_a_study_where_only_jobs_are_read_is_called_one(laptop: Laptop) -> None:
    laptop.write(a_study())

    ended = laptop.qtj("tensorboard", "job.yaml")

    assert ended.code == 2
    what = "this is a study: qtj run FILE runs it here, qtj submit FILE on a cluster"
    assert ended.errors.splitlines() == [f"qtj: job.yaml:2: kind: {what}"]


def test_a_study_that_was_interrupted_goes_on_and_trains_nothing_twice(laptop: Laptop) -> None:
    laptop.write(a_study("--hold-at=1"))
    running = laptop.start("run", "job.yaml", "--parallel", "1")
    wait_until(lambda: trained(laptop) == ["0.1 0", "0.3 0", "0.1 1"])

    running.interrupt()
    stopped = running.end(seconds=60)

    assert stopped.code == 130, stopped.errors
    assert "mse of 2/4 trials" in stopped.output
    assert stopped.output.splitlines()[-1] == "to continue: qtj run job.yaml --parallel 1"
    assert laptop.processes() == {}

    (laptop.folder / "released-here").touch()
    ended = laptop.qtj("run", "job.yaml", "--parallel", "1")

    assert ended.code == 0, ended.errors
    assert "2 trials have finished before" in ended.output
    assert trained(laptop) == ["0.1 0", "0.3 0", "0.1 1", "0.1 1", "0.3 1"], "the interrupted one began again"
    assert "mse of 4/4 trials" in ended.output


def test_a_study_that_was_killed_goes_on(laptop: Laptop) -> None:
    laptop.write(a_study("--hold-at=1"))
    running = laptop.start("run", "job.yaml", "--parallel", "1")
    wait_until(lambda: len(trained(laptop)) == 3)

    running.kill()
    running.end()
    (laptop.folder / "released-here").touch()
    ended = laptop.qtj("run", "job.yaml", "--parallel", "1")

    assert ended.code == 0, ended.errors
    assert trained(laptop)[:2] == ["0.1 0", "0.3 0"]
    assert sorted(set(trained(laptop))) == ["0.1 0", "0.1 1", "0.3 0", "0.3 1"]
    assert len(trained(laptop)) == 5


def test_a_failed_trial_is_named_with_its_reason_and_run_again_with_resume(laptop: Laptop) -> None:
    laptop.write(a_study("--break-at=0.1"))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 0, "three failed trials are allowed"
    assert "mse of 4/4 trials, 2 failed" in ended.output
    assert "rates/1 failed: " in ended.output
    assert "this rate is bad" in ended.output
    assert ended.output.splitlines()[-1] == "to run failed trials again: qtj run job.yaml --resume"

    again = laptop.qtj("run", "job.yaml", "--resume")

    assert "mse of 4/4 trials, 2 failed" in again.output
    assert len(trained(laptop)) == 6


def test_a_changed_program_starts_a_study_over_unless_it_is_to_be_continued(laptop: Laptop) -> None:
    program = laptop.folder / "mine.py"
    program.write_text(Path(TRIAL).read_text())
    study = a_study()
    study["spec"]["jobTemplate"]["template"]["spec"]["containers"][0]["command"] = ["python", "mine.py"]
    laptop.write(study)
    laptop.qtj("run", "job.yaml")

    program.write_text(program.read_text() + "print('more')\n")
    resumed = laptop.qtj("run", "job.yaml", "--resume")
    assert "mine.py changed: 1 line, and finished trials are kept, because of --resume" in resumed.output
    assert len(trained(laptop)) == 4

    again = laptop.qtj("run", "job.yaml")
    assert "rates  starts over, because mine.py changed" in again.output
    assert len(trained(laptop)) == 8


def test_a_study_that_takes_too_long_ends_and_has_the_results_that_there_are(laptop: Laptop) -> None:
    laptop.write(a_study("--hold-at=1", activeDeadlineSeconds=5))

    ended = laptop.qtj("run", "job.yaml", "--parallel", "2")

    assert ended.code == 1
    assert "rates is Failed: the study was not complete within 5 s (spec.activeDeadlineSeconds)" in ended.output
    assert "mse of 2/4 trials" in ended.output
    assert laptop.processes() == {}

    (laptop.folder / "released-here").touch()
    again = laptop.qtj("run", "job.yaml", "--parallel", "2")
    assert again.code == 0, again.output + again.errors
    assert "mse of 4/4 trials" in again.output


def test_a_trial_that_is_worse_than_the_others_is_stopped_and_not_run_again(laptop: Laptop) -> None:
    rates = [{"name": "rate", "values": [0.1, 0.2, 0.3, 0.4]}]
    study = a_study(parameters=rates, seeds=None, stopping={"rule": "Median", "metric": "loss"})
    [container] = study["spec"]["jobTemplate"]["template"]["spec"]["containers"]
    container["command"] = ["python", str(REPOSITORY / "tests/local/reporting_trial.py")]
    study["spec"] = {name: value for name, value in study["spec"].items() if value is not None}
    laptop.write(study)

    ended = laptop.qtj("run", "job.yaml", "--parallel", "4")

    assert ended.code == 0, ended.output + ended.errors
    assert "mse of 4/4 trials, 1 stopped" in ended.output
    why = "after 1 epoch, its loss of 0.4 is worse than the median of 3 others, 0.2"
    assert f"  rates/4  rate=0.4  stopped: {why}" in ended.output
    assert laptop.processes() == {}
    assert "mse of 4/4 trials, 1 stopped" in laptop.qtj("run", "job.yaml").output


def test_a_metric_that_nobody_reports_is_named_and_mended_without_training_again(laptop: Laptop) -> None:
    laptop.write(a_study(objective={"metric": "mes"}))
    ended = laptop.qtj("run", "job.yaml", "--parallel", "1")
    assert ended.code == 1
    assert "rates is Failed: trial 1 reports no finite mes; it reports mse: write mse" in ended.output

    laptop.write(a_study())
    mended = laptop.qtj("run", "job.yaml", "--parallel", "1")

    assert mended.code == 0, mended.output
    assert sorted(trained(laptop)) == ["0.1 0", "0.1 1", "0.3 0", "0.3 1"]


def test_more_seeds_train_only_what_is_new_and_a_changed_template_starts_over(laptop: Laptop) -> None:
    laptop.write(a_study(seeds={"count": 1}))
    laptop.qtj("run", "job.yaml")

    laptop.write(a_study())
    laptop.qtj("run", "job.yaml")
    assert sorted(trained(laptop)) == ["0.1 0", "0.1 1", "0.3 0", "0.3 1"]

    laptop.write(a_study("--hold-at=9"))
    changed = laptop.qtj("run", "job.yaml")
    assert "rates  starts over, because jobTemplate has changed" in changed.output
    assert len(trained(laptop)) == 8
    assert "mse of 4/4 trials" in changed.output


@pytest.mark.parametrize(
    ("spec", "sentence"),
    [
        ({"parameters": [{"name": "rate", "values": []}]}, "spec.parameters[0].values: this is empty"),
        ({"search": {"algorithm": "grid"}}, "this has to be Grid, Random, TPE, GP or CMA-ES: write Grid"),
        ({"jobTemplate": {}}, "job.yaml:"),
        ({"suspend": True}, "spec.suspend: this is true, so nothing would run: write false"),
        ({"maxTrials": 3}, "the grid has 2 points, each with 2 seeds, and 3 is the most trials"),
    ],
)
def test_a_mistake_is_one_sentence_and_starts_nothing(laptop: Laptop, spec: dict[str, Any], sentence: str) -> None:
    laptop.write(a_study(**spec))

    ended = laptop.qtj("run", "job.yaml")

    assert ended.code == 2
    assert sentence in ended.errors
    assert "Traceback" not in ended.errors
    assert not (laptop.folder / "qtj-artifacts").exists()


def test_parallel_is_for_studies(laptop: Laptop) -> None:
    ended = laptop.qtj("run", str(REPOSITORY / "examples/own-loop.yaml"), "--parallel", "2", "--dry-run")

    assert ended.code == 2
    assert "--parallel is for a study" in ended.errors


def test_a_dry_run_for_programs_prints_the_study_and_says_the_rest_beside_it(laptop: Laptop) -> None:
    laptop.write(a_study())

    ended = laptop.qtj("run", "job.yaml", "--dry-run", "-o", "json")

    assert ended.code == 0, ended.errors
    assert json.loads(ended.output)["metadata"]["name"] == "rates"
    place = laptop.folder / "qtj-artifacts/rates"
    assert f"rates  artifacts are stored in {place}/NUMBER, not in gs://bucket/rates\n" in ended.errors
    assert not place.exists()


def test_secrets_of_a_template_are_in_no_record_and_no_output(laptop: Laptop) -> None:
    study = a_study("--db=https://me:hidden-1@host/x")
    container = study["spec"]["jobTemplate"]["template"]["spec"]["containers"][0]
    container["env"] = [{"name": "MY_TOKEN", "value": "hidden-2"}]
    laptop.write(study)

    ended = laptop.qtj("run", "job.yaml", "-o", "json")
    reported = laptop.qtj("report", "rates", "-o", "json")

    assert ended.code == 0, ended.errors
    record = (laptop.folder / "qtj-artifacts/rates/study.json").read_text()
    assert "hidden-" not in record + ended.output + reported.output
    assert "4 trials have finished before" in laptop.qtj("run", "job.yaml").output, "the same template goes on"
