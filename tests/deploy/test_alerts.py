"""The alerts: each has a runbook, and none counts what the pods of a tenant export."""

import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.missing import skip_or_fail

_ROOT = Path(__file__).parents[2]
_MONITORING = _ROOT / "deploy/helm/files/monitoring"
_GROUPS = yaml.safe_load((_MONITORING / "alerts.yaml").read_text())["spec"]["groups"]
_CASES = _ROOT / "tests/e2e/monitoring/alerts_test.yaml"
_RULES = [rule for group in _GROUPS for rule in group["rules"]]


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: str(rule["alert"]))
def test_each_alert_has_a_section_of_a_page(rule: dict[str, Any]) -> None:
    page, _, anchor = rule["annotations"]["runbook_url"].partition("#")
    headings = re.findall(r"^## (.+)$", (_ROOT / page).read_text(), re.MULTILINE)

    assert anchor == rule["alert"].lower()
    assert rule["alert"] in headings


@pytest.mark.parametrize("rule", _RULES, ids=lambda rule: str(rule["alert"]))
def test_metrics_of_the_operator_are_taken_from_its_own_target(rule: dict[str, Any]) -> None:
    used = re.findall(r"qtj_(?!training_)\w+(?:\{([^}]*))?", rule["expr"])

    assert [labels for labels in used if 'job="qtj-operator"' not in labels] == []


def test_a_pod_of_a_tenant_gives_metrics_of_trainings_alone() -> None:
    monitor = yaml.safe_load((_MONITORING / "trainers.yaml").read_text())["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]

    (kept,) = [rule["regex"] for rule in endpoint["metricRelabelings"] if rule["action"] == "keep"]
    assert re.fullmatch(kept, "qtj_training_step")
    assert not re.fullmatch(kept, "qtj_leader")


def test_the_page_for_another_prometheus_scrapes_trainings_as_the_monitor_does() -> None:
    page = (_ROOT / "docs/operations/monitor.md").read_text()
    (block,) = re.findall(r"```yaml\n(scrape_configs:.+?)```", page, re.DOTALL)
    trainers = next(each for each in yaml.safe_load(block)["scrape_configs"] if each["job_name"] == "qtj-trainers")
    monitor = yaml.safe_load((_MONITORING / "trainers.yaml").read_text())["spec"]
    (endpoint,) = monitor["podMetricsEndpoints"]

    made = {
        rule["target_label"]: rule["source_labels"] for rule in trainers["relabel_configs"] if "target_label" in rule
    }
    expected = {rule["targetLabel"]: rule["sourceLabels"] for rule in endpoint["relabelings"]}
    kept = [(rule["source_labels"], rule["regex"]) for rule in trainers["metric_relabel_configs"]]
    assert expected.items() <= made.items()
    assert kept == [(rule["sourceLabels"], rule["regex"]) for rule in endpoint["metricRelabelings"]]
    assert endpoint["port"] in {rule.get("regex") for rule in trainers["relabel_configs"]}


def test_the_alerts_fire_in_these_cases_and_in_no_others(tmp_path: Path) -> None:
    if not shutil.which("promtool"):
        skip_or_fail("there is no promtool: apt-get install prometheus")
    (tmp_path / "rules.yaml").write_text(yaml.safe_dump({"groups": _GROUPS}))
    shutil.copy(_CASES, tmp_path)

    argv = ("promtool", "test", "rules", _CASES.name)
    tried = subprocess.run(argv, cwd=tmp_path, capture_output=True, text=True, check=False)

    assert tried.returncode == 0, tried.stdout + tried.stderr


def test_each_alert_has_a_case_in_which_it_fires_and_one_in_which_it_does_not() -> None:
    cases = yaml.safe_load(_CASES.read_text())["tests"]
    tried = [alert for case in cases for alert in case.get("alert_rule_test", ())]
    fires = {alert["alertname"] for alert in tried if alert["exp_alerts"]}
    silent = {alert["alertname"] for alert in tried if not alert["exp_alerts"]}

    assert {rule["alert"] for rule in _RULES} - fires == set()
    assert {rule["alert"] for rule in _RULES} - silent - _TOLD_APART == set()


_TOLD_APART = {"QuantumTrainingPassesFail", "QuantumTrainingQueueGrows", "QuantumTrainingRestarts"}
"""Their cases have one operator or namespace for which they fire, and another one for which they must not."""
