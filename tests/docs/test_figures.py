"""The figures of studies are those of the results beside them, and each study is one of the examples."""

import json

import yaml

from tools.docs.figures import FOLDER, drawn
from tools.docs.files import ROOT


def test_the_figures_are_drawn_from_the_stored_results() -> None:
    figures = dict(drawn())

    assert sorted(figures) == sorted(FOLDER.glob("*.svg"))
    assert [path.name for path, text in figures.items() if path.read_text() != text] == [], "run `make figures`"


def test_each_figure_names_its_study() -> None:
    page = (ROOT / "docs/studies.md").read_text()

    for path in FOLDER.glob("*.svg"):
        assert (ROOT / f"examples/studies/{path.stem}.yaml").is_file()
        assert f"qtj run examples/studies/{path.stem}.yaml" in page
        assert f"studies/{path.name}" in page


def test_each_result_is_that_of_the_study_as_it_is() -> None:
    for path in FOLDER.glob("*.json"):
        study = yaml.safe_load((ROOT / f"examples/studies/{path.stem}.yaml").read_text())

        assert json.loads(path.read_text())["spec"] == study["spec"], path.stem
