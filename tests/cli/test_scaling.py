"""`qtj report --scaling`: throughput by devices and workers, from what runs have recorded."""

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import yaml

from qtj.report.scaling import scaling_charts, scaling_of
from qtj_contract import Progress
from qtj_contract.progress_log import progress_line
from qtj_report.chart import Chart
from tests.cli.qtj import qtj

NOON = datetime(2026, 11, 23, 12, tzinfo=UTC)


class Runs:
    """The runs of a folder, as `qtj run` leaves them."""

    def __init__(self, folder: Path) -> None:
        self.root = folder / "qtj-artifacts"

    def add(self, *rates: float, run: str = "qcnn/1", workers: int = 1, args: str = "", **spec: Any) -> None:
        """Adds a run whose epochs had these examples per second."""
        place = self._place(run)
        container = {"name": "trainer", "image": "qtj-trainer:1", "args": ["train", "qcnn", *args.split()]}
        written = {
            "replicaSpecs": {"Worker": {"replicas": workers}},
            "template": {"spec": {"containers": [container]}},
            **spec,
        }
        meta = {"name": run.partition("/")[0], "namespace": "default", "uid": "uid-1"}
        record = {"kind": "QuantumTrainingJob", "metadata": meta, "spec": written, "status": {"phase": "Complete"}}
        (place / "job.json").write_text(json.dumps(record))
        self.epochs(run, *rates, devices=workers)

    def epochs(
        self, run: str, *rates: float | None, devices: int | None = None, attempt: int = 1, first: int = 1
    ) -> None:
        """Adds epochs to a run."""
        with (self._place(run) / "progress.jsonl").open("a") as log:
            for number, rate in enumerate(rates, start=first):
                said = Progress(epoch=number, loss=0.5, examples_per_second=rate, devices=devices)
                log.write(progress_line(said, attempt, NOON))

    def _place(self, run: str) -> Path:
        place = self.root / run
        place.mkdir(parents=True, exist_ok=True)
        (place / ".qtj-run").touch()
        return place


@pytest.fixture
def runs(folder: Path) -> Runs:
    return Runs(folder)


def test_runs_are_compared_with_the_smallest_of_them(runs: Runs) -> None:
    runs.add(20, 360, 400, 380, run="qcnn/2", workers=4)
    runs.add(10, 100, 100, 100, run="qcnn/1")

    answer = qtj("report", "--scaling", "qcnn")

    assert answer.output.splitlines() == [
        "RUN      WORKERS   DEVICES   EXAMPLES/S   SPEED-UP   EFFICIENCY   EPOCHS",
        "qcnn/1   1         1         100          1.00       100 %        3",
        "qcnn/2   4         4         380          3.80       95 %         3",
        "picture: qtj-artifacts/scaling.svg",
    ]
    assert (runs.root / "scaling.txt").read_text().splitlines() == answer.output.splitlines()[:-1]
    assert (runs.root / "scaling.svg").read_text().startswith("<svg ")


def test_jobs_and_runs_are_named_side_by_side(runs: Runs) -> None:
    runs.add(100, 100, run="one/1")
    runs.add(150, 150, run="two/1", workers=2)
    runs.add(999, 999, run="two/2", workers=2)

    answer = qtj("report", "--scaling", "one", "two/1", "-o", "name")

    assert answer.output.split() == ["one/1", "two/1"]


def test_programs_read_the_table_as_a_list(runs: Runs) -> None:
    runs.add(10, 100, 100)
    runs.add(10, 150, 150, run="qcnn/2", workers=2)

    told = json.loads(qtj("report", "--scaling", "qcnn", "-o", "json").output)

    assert told["kind"] == "List"
    assert told["items"][1] == {
        "run": "qcnn/2", "workers": 2, "devices": 2, "examplesPerSecond": 150.0, "epochs": 2, "speedUp": 1.5,
        "efficiency": 0.75,
    }  # fmt: skip
    assert yaml.safe_load(qtj("report", "--scaling", "qcnn", "-o", "yaml").output) == told
    assert not (runs.root / "scaling.txt").exists()


def test_devices_count_not_workers(runs: Runs) -> None:
    runs.add(100, 100)
    runs.add(run="qcnn/2", workers=2)
    runs.epochs("qcnn/2", 10, 600, devices=8)

    [_, second] = scaling_of(["qcnn"]).scales

    assert (second.workers, second.devices, second.speed_up, second.efficiency) == (2, 8, 6, 0.75)


def test_the_first_epoch_of_an_attempt_in_which_a_program_compiles_is_left_out(runs: Runs) -> None:
    runs.add(1, 100, 100)
    runs.epochs("qcnn/1", 2, 200, 200, devices=1, attempt=2, first=4)

    [scale] = scaling_of(["qcnn"]).scales

    assert (scale.examples_per_second, scale.epochs) == (150, 4)


def test_epochs_on_other_devices_than_the_last_ones_do_not_count(runs: Runs) -> None:
    runs.add(10, 100, 100)
    runs.epochs("qcnn/1", 10, 400, 400, devices=4, attempt=2, first=4)

    [scale] = scaling_of(["qcnn"]).scales

    assert (scale.devices, scale.examples_per_second) == (4, 400)


def test_the_fastest_of_several_smallest_runs_is_what_others_are_compared_with(runs: Runs) -> None:
    runs.add(80, 80)
    runs.add(100, 100, run="qcnn/2")
    runs.add(200, 200, run="qcnn/3", workers=2)

    assert [(each.run, each.speed_up) for each in scaling_of(["qcnn"]).scales] == [
        ("qcnn/2", 1.0), ("qcnn/1", 0.8), ("qcnn/3", 2.0),
    ]  # fmt: skip


def test_the_smallest_run_may_have_several_devices_and_a_single_epoch(runs: Runs) -> None:
    runs.add(100, workers=2)
    runs.add(150, run="qcnn/2", workers=4)

    scales = scaling_of(["qcnn"]).scales

    assert [(each.examples_per_second, each.efficiency) for each in scales] == [(100, 1), (150, 0.75)]


def test_the_chief_of_parameter_servers_is_no_worker(runs: Runs) -> None:
    roles = {"Chief": {}, "PS": {}, "Worker": {"replicas": 3}, "Evaluator": {}}
    runs.add(100, strategy="ParameterServer", replicaSpecs=roles)
    runs.add(100, run="qcnn/2", replicaSpecs=roles)

    assert sorted(each.workers for each in scaling_of(["qcnn"]).scales) == [3, 4]


def test_devices_that_nobody_told_are_counted_one_for_each_worker_and_that_is_said(runs: Runs) -> None:
    runs.add(run="own/1", workers=2)
    runs.epochs("own/1", 100, 100)

    found = scaling_of(["own"])

    assert [each.devices for each in found.scales] == [2]
    assert found.notes == ["one device is counted for each worker of own/1, which did not report their number"]


def test_runs_that_did_other_work_are_named(runs: Runs) -> None:
    runs.add(100, args="--batch-size=16 --devices 1")
    runs.add(200, run="qcnn/2", workers=2, args="--batch-size=16 --devices=2")
    runs.add(400, run="qcnn/3", workers=4, args="--batch-size=64")

    assert scaling_of(["qcnn"]).notes == ["other arguments or another circuit than qcnn/1, so not comparable: qcnn/3"]


def test_a_run_of_a_job_without_throughput_is_left_out_and_named(runs: Runs) -> None:
    runs.add(100)
    runs.add(run="qcnn/2")

    answer = qtj("report", "--scaling", "qcnn")

    assert "left out, because no throughput is recorded: qcnn/2" in answer.output.splitlines()


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ["mute"],
            "mute has no recorded throughput: its program reports no examplesPerSecond in its progress, as docs/",
        ),
        (["qcnn", "mute/1"], "mute/1 has no recorded throughput: its program reports no examplesPerSecond"),
        (["new/1"], "new/1 has no recorded throughput: none of its epochs is recorded yet"),
        (["qcnm"], "the job qcnm was not run in this folder: write qcnn"),
        (["qcnn/7"], "there is no run qcnn/7 in this folder: there are qcnn/1"),
        ([], "name the jobs or runs to compare, such as qcnn or qcnn/1: `qtj list` shows them"),
        (["qcnn", "--artifacts", "x"], "--artifacts is the folder of one run, and --scaling compares several"),
    ],
)
def test_what_cannot_be_compared_is_one_sentence(runs: Runs, words: list[str], sentence: str) -> None:
    runs.add(100)
    runs.add(run="new/1")
    runs.add(run="mute/1")
    runs.epochs("mute/1", None, None)

    answer = qtj("report", "--scaling", *words)

    assert (answer.code, answer.output, len(answer.sentences)) == (2, "", 1)
    assert answer.sentences[0].startswith(sentence)


def test_the_picture_shows_throughput_and_efficiency_against_devices(runs: Runs) -> None:
    runs.add(100)
    runs.add(150, run="qcnn/2", workers=2)

    throughput, efficiency = scaling_charts(scaling_of(["qcnn"]).scales)

    # 178 is half of the width of a chart's plane; 226 is its lower edge, and 12 the upper one.
    assert drawn(throughput) == {"exact": "M66.0 226.0L422.0 12.0", "points": "M244.0 119.0h0M422.0 65.5h0"}
    assert drawn(efficiency) == {"exact": "M66.0 12.0L422.0 12.0", "points": "M244.0 12.0h0M422.0 65.5h0"}
    assert [each.text for each in throughput.shapes if each.tag == "text"][-2:] == ["qcnn/1", "qcnn/2"]


def drawn(chart: Chart) -> dict[str, str]:
    return {each.attrib["class"]: each.attrib["d"] for each in chart.shapes if each.tag == "path"}
