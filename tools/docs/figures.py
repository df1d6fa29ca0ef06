"""`make figures`: draws docs/studies/*.svg from the results beside them, with the charts of `qtj report`.

A result is what `qtj report NAME -o json` prints after `qtj run examples/studies/NAME.yaml`.
"""

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from qtj_report.content import ParameterColumn, StudyContent, StudyPoint
from qtj_report.picture import picture
from qtj_report.study_page import parameter_charts
from tools.docs.files import ROOT

FOLDER = ROOT / "docs/studies"


def drawn() -> Iterator[tuple[Path, str]]:
    """Yields the path and the text of each figure."""
    for file in sorted(FOLDER.glob("*.json")):
        found = json.loads(file.read_text())
        name, spec = found["metadata"]["name"], found["spec"]
        yield file.with_suffix(".svg"), picture(name, [*parameter_charts(_content(name, spec, found["status"]))])


def _content(name: str, spec: Mapping[str, Any], status: Mapping[str, Any]) -> StudyContent:
    """Returns what the charts need of a study."""
    return StudyContent(
        title=name,
        phase=status["phase"],
        headline="",
        metric=spec["objective"]["metric"],
        counts="",
        headings=(),
        parameters=[ParameterColumn(name=each["name"]) for each in spec["parameters"]],
        points=[_point(each) for each in status["points"]],
        trials=(),
    )


def _point(point: Mapping[str, Any]) -> StudyPoint:
    return StudyPoint(
        name=", ".join(f"{name}={value}" for name, value in point["parameters"].items()),
        values=point["parameters"],
        cells=(),
        metrics=point["values"],
        mean=point["mean"],
        margin=point["margin"],
    )


if __name__ == "__main__":
    for path, text in drawn():
        path.write_text(text)
