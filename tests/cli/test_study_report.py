"""`qtj report` of a study: page, terminal, CSV and data say the same, and no more than the seeds allow."""

import csv
import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from qtj.studies.compare import baseline_of, comparison_of, comparison_sentences, influences_of
from qtj.studies.content import study_content, study_data, trials_csv
from qtj.studies.record import StudyRecord, recorded_study
from qtj.studies.words import study_text
from qtj_contract.progress_log import EpochRecord
from qtj_operator.api.study import StudySpec
from qtj_operator.api.study_status import StudyPhase, StudyStatus, TrialPhase, TrialStatus
from qtj_operator.core.study.plan import plan_of
from qtj_report.study_page import parallel_chart, parameter_charts, seed_charts, study_page
from tests.cli.html_page import Page
from tests.cli.qtj import qtj
from tests.study.studies import study, trial

WILD = '<script>"&'


def finished(spec: StudySpec, *values: float) -> StudyStatus:
    """All trials of a study, with their values in the order of the plan."""
    trials = [
        TrialStatus(
            number=number,
            parameters=dict(setting.point),
            seed=setting.seed,
            phase=TrialPhase.COMPLETE,
            metrics={"mse": value},
        )
        for number, (setting, value) in enumerate(zip(plan_of(spec), values, strict=True), 1)
    ]
    return StudyStatus(phase=StudyPhase.COMPLETE, trials=trials)


def sentences(status: StudyStatus, spec: StudySpec, baseline: dict[str, str] | None = None) -> str:
    found = comparison_of(spec, status, baseline)
    return "" if found is None else "\n".join(comparison_sentences(found, "mse"))


def test_the_test_is_paired_by_seed_and_its_probability_is_that_of_the_tables() -> None:
    spec = study(seeds={"count": 5})
    status = finished(spec, *(value for each in (1, 2, 3, 4, 5) for value in (10.0 * each, 10.0 * each - each)))

    found = comparison_of(spec, status, None)

    assert found is not None
    assert found.differences == [-1, -2, -3, -4, -5]
    assert found.error is not None
    assert found.mean / found.error == pytest.approx(-4.24264, rel=1e-5)
    assert found.probability == pytest.approx(0.0132356, rel=1e-4), "scipy.stats.ttest_1samp of these differences"
    assert found.margin == pytest.approx(1.963243, rel=1e-5)
    assert sentences(status, spec) == (
        "learning-rate=0.1 is compared with learning-rate=0.01 (the baseline)\n"
        "the mean of mse changes by -3 ± 1.963 (95%), paired t test over 5 seeds: p = 0.013"
    )


@pytest.mark.parametrize(
    ("count", "values", "sentence"),
    [
        (1, [2.0, 1.0], "both have one seed in common, and a test needs at least two: raise seeds.count"),
        (2, [2.0, 1.0, 3.0, 2.0], "mse changes by -1 at each of 2 seeds, which leaves nothing to test"),
        (3, [0.2641, 0.1783] * 3, "mse is the same for all 3 seeds: does the program use --seed?"),
        (3, [0.15, 0.1, 0.25, 0.2, 0.35, 0.3], "mse changes by -0.05 at each of 3 seeds, which leaves nothing to test"),
        (2, [2.0, 1.0, 2.0, 1.0], "mse is the same for all 2 seeds: does the program use --seed?"),
        (2, [2.0, 1.0, 3.0, 1.0], "2 seeds are few: p rests on the assumption that differences scatter as a normal"),
    ],
)
def test_what_too_few_seeds_cannot_show_is_said(count: int, values: list[float], sentence: str) -> None:
    spec = study(seeds={"count": count})

    assert sentence in sentences(finished(spec, *values), spec)


def test_the_best_of_several_points_was_chosen_and_the_probability_says_so() -> None:
    spec = study(parameters=[{"name": "learning-rate", "values": [0.01, 0.1, 0.5]}])
    status = finished(spec, 3.0, 1.0, 2.0, 5.0, 1.5, 2.5)

    found = comparison_of(spec, status, None)

    assert found is not None
    assert found.probability is not None
    assert found.corrected == pytest.approx(2 * found.probability)
    assert "corrected, because the best of 3 points was chosen: p = " in sentences(status, spec)
    assert "(the second best), because the baseline is the best point" in sentences(
        status, spec, {"learning-rate": "0.1"}
    )


def test_a_point_of_a_search_that_learns_can_be_the_baseline() -> None:
    limits = [{"name": "rate", "range": {"min": 0, "max": 1}}]
    spec = study(parameters=limits, seeds=None, search={"algorithm": "TPE"}, maxTrials=4)
    known = StudyStatus(trials=[TrialStatus(number=1, parameters={"rate": 0.25}, phase=TrialPhase.RUNNING)])

    assert baseline_of("rate=0.25", spec, known) == {"rate": "0.25"}


def test_a_failed_seed_is_left_out_of_the_pairs_and_one_point_is_compared_with_nothing() -> None:
    spec = study(seeds={"count": 3})
    trials = [trial(1, 0.01, 0, mse=3), trial(2, 0.1, 0, mse=1), trial(3, 0.01, 1, mse=4), trial(4, 0.1, 1, mse=1)]
    status = StudyStatus(trials=[*trials, trial(5, 0.01, 2, failed="no"), trial(6, 0.1, 2, mse=0)])

    assert "paired t test over 2 seeds" in sentences(status, spec)
    assert sentences(StudyStatus(trials=trials[:1]), spec) == ""


def test_the_shares_of_a_grid_are_those_of_its_groups_and_nothing_is_told_of_drawn_points() -> None:
    parameters = [{"name": "a", "values": [0, 1]}, {"name": "b", "values": ["x", "y"]}]
    spec = study(parameters=parameters)

    shares = influences_of(spec, finished(spec, 0, 0, 4, 4, 0, 2, 4, 6))

    assert [(each.name, round(each.share, 3), round(each.by_chance, 3)) for each in shares] == [
        ("a", 0.842, 0.143),
        ("b", 0.053, 0.143),
    ]
    drawn = study(parameters=parameters, search={"algorithm": "Random"}, maxTrials=4)
    assert influences_of(drawn, finished(drawn, 0, 1, 2, 3)) == ()
    assert influences_of(spec, StudyStatus()) == (), "a part of a grid has other groups"
    assert influences_of(spec, finished(spec, *[1.0] * 8)) == (), "nothing scatters"
    assert influences_of(spec, finished(spec, *[0.1117] * 8)) == (), "also where the mean is rounded"
    assert influences_of(spec, finished(spec, *(1e-200 * each for each in range(8)))) == (), "squares are rounded to 0"


def test_a_spreadsheet_takes_no_cell_for_a_formula() -> None:
    spec = study(parameters=[{"name": "kind", "values": ["=1+1", "@x", "-1", "-x"]}], seeds=None)
    status = finished(spec, -1.0, 1, 1, 1)
    broken = status.trials[3].changed(phase=TrialPhase.FAILED, metrics=None, message="+cmd")
    status = status.changed(trials=[*status.trials[:3], broken])

    rows = list(csv.DictReader(trials_csv(spec, status).splitlines()))

    assert [row["kind"] for row in rows] == ["'=1+1", "'@x", "-1", "'-x"]
    assert (rows[0]["mse"], rows[3]["message"]) == ("-1.0", "'+cmd")


def test_the_final_training_is_told_apart_from_the_table_and_marked_among_the_runs() -> None:
    spec = study(final={"seeds": {"count": 2}, "parameters": {"epochs": 9}})
    values = {"learning-rate": 0.01, "epochs": 9}
    final = [
        TrialStatus(
            number=number, parameters=values, seed=seed, final=True, phase=TrialPhase.COMPLETE, metrics={"mse": mse}
        )
        for number, seed, mse in ((5, 2, 0.1), (6, 3, 0.3))
    ]
    status = finished(spec, 1, 2, 1, 2)
    status = status.changed(trials=[*status.trials, *final])

    content = study_content("rates", spec, status)
    text, page = study_text(content), study_page(content, datetime(2030, 1, 1, tzinfo=UTC))

    told = (
        "final training of learning-rate=0.01 epochs=9: 2 of 2 final trials have finished, with a mean mse of "
        "0.2 ± 1.271 (95%)"
    )
    assert "mse of 4/4 trials; 2/2 of the final training" in text
    assert told in text.splitlines()
    assert told in page
    assert "learning-rate=0.01 epochs=9 seed=2 (final)" in page
    assert len(content.points) == 2
    rows = list(csv.DictReader(trials_csv(spec, status).splitlines()))
    assert [(row["epochs"], row["final"]) for row in rows[3:]] == [("", "false"), ("9", "true"), ("9", "true")]
    data = study_data(recorded_study("rates", spec, status), spec, status)["status"]
    assert (data["final"]["parameters"], data["final"]["trials"]) == (values, [5, 6])
    assert data["final"]["mean"] == pytest.approx(0.2)
    assert len(data["points"]) == 2


def test_without_a_best_point_a_report_says_why_there_is_no_final_training() -> None:
    spec = study(parameters=[{"name": "learning-rate", "values": [0.01]}], seeds=None, final={"seeds": {"count": 2}})
    failed = StudyStatus(phase=StudyPhase.COMPLETE, trials=[trial(1, 0.01, None, failed="no memory")])

    assert "there is no final training, because no point is best" in study_text(study_content("rates", spec, failed))
    assert study_content("rates", spec, StudyStatus()).final == ""


def curve(*losses: float) -> list[EpochRecord]:
    return [EpochRecord(number=number, attempt=1, loss=loss) for number, loss in enumerate(losses, 1)]


def test_a_curve_is_the_mean_of_the_seeds_with_a_band_as_far_as_all_went() -> None:
    spec = study()
    runs = {1: curve(4, 2, 1), 2: curve(8, 8), 3: curve(2, 0), 4: curve(8, 8)}

    found = study_content("rates", spec, finished(spec, 1, 2, 1, 2), epochs=lambda each: runs[each.number])
    [chart] = seed_charts(found.points)

    tips = [tip.text for shape in chart.shapes for tip in shape.iter("title")]
    assert tips[:2] == ["learning-rate=0.01, epoch 1: 3", "learning-rate=0.01, epoch 2: 1"]
    assert len(tips) == 4
    assert [shape.get("class") for shape in chart.shapes if "band" in (shape.get("class") or "")] == [
        "band c0",
        "band c1",
    ]


@pytest.mark.parametrize(
    "parameter",
    [
        {"name": "learning-rate", "values": [0.1, 0.01]},
        {"name": "learning-rate", "values": ["adam", WILD, "a very long name of an optimizer"]},
        {"name": "learning-rate", "values": [True, False]},
        {"name": "learning-rate", "range": {"min": 1e-4, "max": 0.1, "scale": "Log", "points": 12}},
        {"name": "learning-rate", "range": {"min": 1, "max": 9, "integer": True}},
        {"name": "learning-rate", "values": [f"kind {number}" for number in range(20)]},
    ],
)
def test_values_of_every_kind_have_a_place_on_the_axis(parameter: dict[str, Any]) -> None:
    spec = study(parameters=[parameter, {"name": "layers", "values": [1]}], seeds={"count": 2})
    size = len(plan_of(spec))

    found = study_content("rates", spec, finished(spec, *(1.0 + number for number in range(size))))

    charts = [*parameter_charts(found), *parallel_chart(found)]
    assert len(charts) == 3
    texts = [shape.text for shape in charts[0].shapes if shape.tag == "text"]
    assert 3 <= len(texts) <= 20
    for chart in charts:
        for shape in chart.shapes:
            assert "nan" not in str(shape.attrib)
            if shape.tag == "text" and shape.get("x"):
                assert 0 <= float(shape.get("x") or 0) <= 440


def test_parallel_axes_need_two_parameters_and_charts_need_a_value() -> None:
    assert list(parallel_chart(study_content("rates", study(), finished(study(), 1, 2, 3, 4)))) == []
    assert list(parameter_charts(study_content("rates", study(), StudyStatus()))) == []


@pytest.fixture
def rates(folder: Path) -> StudyRecord:
    """A study that was run here, and whose folders of trials were deleted."""
    kind = {"name": "kind", "values": [WILD, "plain"]}
    spec = study(parameters=[kind], seeds={"count": 3}, jobTemplate={"artifacts": {"uri": "file:///x"}})
    status = finished(spec, 3, 1, 4, 1, 5, 1.5)
    record = StudyRecord("rates")
    record.path.mkdir(parents=True)
    record.save(recorded_study("rates", spec, status.changed(phase=StudyPhase.COMPLETE)))
    return record


def test_the_page_has_the_facts_of_the_terminal_and_escapes_what_comes_from_the_user(rates: StudyRecord) -> None:
    answer = qtj("report", "rates")

    assert (answer.code, answer.errors) == (0, "")
    lines = answer.output.splitlines()
    assert lines[-1] == "page: qtj-artifacts/rates/report.html"
    page = Page.read(rates.path / "report.html")
    assert (page.mistakes, page.references, page.all("script")) == ([], [], [])
    told = [line for line in lines if "compared with" in line or "paired t test" in line]
    assert len(told) == 2
    assert all(line in page.section("Best point and baseline") for line in told)
    assert page.section("Points").endswith(f"{WILD}3/34 ± 2.484135")
    assert "By chance" in page.section("Importance of parameters")
    assert len(page.all("h2")) == 5


def test_programs_get_the_comparison_and_the_shares(rates: StudyRecord) -> None:
    found = json.loads(qtj("report", "rates", "-o", "json").output)["status"]

    assert found["comparison"]["seeds"] == 3
    assert found["comparison"]["baseline"] == {"kind": WILD}
    assert found["comparison"]["pValue"] < 0.05
    assert [each["parameter"] for each in found["influences"]] == ["kind"]
    assert not (rates.path / "report.html").exists(), "with -o nothing is written"


def test_the_trials_are_written_as_csv_to_a_file_or_to_stdout_alone(rates: StudyRecord) -> None:
    assert qtj("report", "rates", "--csv", "trials.csv").output == "trials: trials.csv\n"
    assert len(Path("trials.csv").read_text().splitlines()) == 7


def test_a_page_that_cannot_be_written_hides_no_table(rates: StudyRecord) -> None:
    (rates.path / "report.html").mkdir()

    answer = qtj("report", "rates")

    assert answer.code == 0
    assert answer.output.startswith("rates is Complete\n")
    assert answer.output.splitlines()[-1].startswith("page: none, because ")


def test_the_page_of_a_study_on_a_phone_scrolls_its_tables_and_not_itself(rates: StudyRecord) -> None:
    qtj("report", "rates", "--html", "page.html")

    page = Page.read(Path("page.html"))

    assert page.texts("h1") == ["rates ✓ Complete"]
    scrolled = [tag for tag in page.all("div") if tag.attributes.get("class") == "scrolled"]
    assert len(scrolled) == len(page.all("table")) == 3


def test_another_baseline_is_named_by_its_values(rates: StudyRecord) -> None:
    answer = qtj("report", "rates", "--baseline", "kind=plain")

    assert "kind=plain is compared with" in answer.output
    assert "the second best" in answer.output
    wrong = qtj("report", "rates", "--baseline", "kind=sgd")
    assert wrong.sentences == [
        '--baseline "kind=sgd": no point has these values: write kind=VALUE as the table has them'
    ]


@pytest.mark.parametrize("option", [("--csv", "x.csv"), ("--baseline", "a=1")])
def test_what_is_about_studies_is_refused_for_a_run(folder: Path, option: tuple[str, str]) -> None:
    assert qtj("report", "rates", *option).sentences == [
        "--csv and --baseline are about a study: name one, such as qtj report rates --csv FILE"
    ]


def test_a_study_without_any_result_has_a_page_too() -> None:
    text = study_text(study_content("rates", study(), StudyStatus(trials=[trial(1, failed="no memory")])))

    assert "rates/1 failed: no memory" in text


def test_a_point_says_how_many_of_its_trials_have_failed_and_were_stopped() -> None:
    """It may be the best one all the same, if each has such a trial."""
    stopped = trial(2, 0.01, 1).changed(phase=TrialPhase.STOPPED)
    trials = [trial(1, 0.01, 0, mse=0.1), stopped, trial(3, 0.01, 2, failed="no memory")]

    text = study_text(study_content("rates", study(seeds={"count": 3}), StudyStatus(trials=trials)))

    [row] = [line for line in text.splitlines() if line.startswith("0.01")]
    assert "  3/3, 1 stopped, 1 failed  " in row
    assert row.endswith("  best")
