"""The Grafana dashboard, where operators and trainings of several namespaces share one Prometheus."""

import json
import re
from pathlib import Path

_DASHBOARD = json.loads((Path(__file__).parents[2] / "deploy/helm/files/monitoring/dashboard.json").read_text())
_QUERIES = {panel["title"]: target["expr"] for panel in _DASHBOARD["panels"] for target in panel.get("targets", ())}


def test_the_largest_of_several_namespaces_does_not_stand_for_all() -> None:
    """Two replicas of an operator answer for the same jobs, and two replicas of a job for the same training."""
    largest = [(title, by) for title, query in _QUERIES.items() for by in re.findall(r"max( by \([^)]*\))?", query)]

    assert len(largest) >= 10
    assert [title for title, by in largest if "namespace" not in by] == []


def test_trainings_are_those_of_the_chosen_namespaces_and_jobs() -> None:
    asked = [query for query in _QUERIES.values() if "qtj_training_" in query]
    chosen = [re.findall(r"qtj_training_\w+(\{[^}]*\})?", query) for query in asked]

    assert len(asked) == 10
    assert {labels for each in chosen for labels in each} == {'{namespace=~"$namespace", quantum_job=~"$job"}'}


def test_a_table_says_of_each_job_that_stands_still_where_it_is_and_why() -> None:
    tables = [panel for panel in _DASHBOARD["panels"] if panel["type"] == "table"]
    (first, *_) = (panel["title"] for panel in _DASHBOARD["panels"] if panel["type"] != "row")

    assert first == "Jobs that wait"
    for table in tables:
        (order,) = [each["options"] for each in table["transformations"]]
        assert list(order["renameByName"].values())[:3] == ["Namespace", _KINDS[table["title"].split()[0]], "Reason"]
        assert f"by ({', '.join(list(order['renameByName'])[:-1])})" in table["targets"][0]["expr"]


_KINDS = {"Jobs": "Job", "Studies": "Study"}
