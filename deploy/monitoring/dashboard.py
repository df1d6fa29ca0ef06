"""Writes dashboard.json, the Grafana dashboard of the operator and of the trainings: `make dashboard`.

Each panel is one question with the PromQL that answers it. Its place on the page follows from its place in `ROWS`.
"""

import json
import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

TARGET = Path(__file__).parents[1] / "helm/files/monitoring/dashboard.json"
_SOURCE = {"type": "prometheus", "uid": "${datasource}"}
_COLUMNS = 24
_HEIGHT = 7


@dataclass(frozen=True, slots=True, kw_only=True)
class Panel:
    """One graph, or one table.

    Attributes:
        title: What is seen.
        query: PromQL; `$namespace` and `$job` stand for what is chosen at the top of the page.
        legend: Name of a line, with labels in `{{braces}}`.
        unit: Grafana's name of the unit.
        stacked: Whether the lines add up to a whole.
        columns: Of a table with a row for each line as it is now: labels with their headings.
    """

    title: str
    query: str
    legend: str = ""
    unit: str = "short"
    stacked: bool = False
    columns: Mapping[str, str] = field(default_factory=dict)


def _by_job(metric: str, of: str = "max") -> str:
    """Returns the number of each chosen job: every replica answers, and the leader is ahead."""
    return f'{of} by (namespace, quantum_job) (qtj_training_{metric}{{namespace=~"$namespace", quantum_job=~"$job"}})'


def _by_operator(metric: str) -> str:
    """Returns the number of each operator: there may be one for each of several namespaces, with a stand-by."""
    return f"max by (namespace) ({metric})"


def _of_training(title: str, query: str, unit: str = "short") -> Panel:
    """Returns a panel with a line for each chosen job."""
    return Panel(title=title, query=query, legend="{{namespace}}/{{quantum_job}}", unit=unit)


def _troubles(title: str, of: str, trouble: str, **columns: str) -> Panel:
    """Returns a table of the jobs, or the studies, with one kind of trouble."""
    shown = {"job_namespace": "Namespace", f"quantum_{of}": of.capitalize(), "reason": "Reason", **columns}
    return Panel(
        title=title,
        query=f"max by ({', '.join(shown)}) (qtj_{of}_trouble_timestamp_seconds"
        f'{{job_namespace=~"$team", trouble="{trouble}"}}) * 1000',
        columns=shown,
        unit="dateTimeFromNow",
    )


ROWS: dict[str, tuple[Panel, ...]] = {
    "Jobs that stand still": (
        _troubles("Jobs that wait", "job", "Waits", cause="Refused by, or last failure"),
        _troubles("Jobs that start again", "job", "StartsAgain", cause="Last failure"),
        _troubles("Jobs that failed within a day", "job", "Failed", cause="Last failure"),
    ),
    "Studies": (
        _troubles("Studies that start no trials", "study", "Waits"),
        _troubles("Studies that failed within a day", "study", "Failed"),
        Panel(
            title="Studies by phase",
            query="sum by (job_namespace, phase) (max by (namespace, job_namespace, phase, reason) "
            '(qtj_studies{job_namespace=~"$team"}))',
            legend="{{job_namespace}} {{phase}}",
            stacked=True,
        ),
    ),
    "Jobs": (
        Panel(
            title="Jobs by phase",
            query="sum by (phase) (max by (namespace, job_namespace, phase, reason) (qtj_jobs))",
            legend="{{phase}}",
            stacked=True,
        ),
        Panel(
            title="Failed jobs by reason, in an hour",
            query="sum by (reason) (increase(qtj_jobs_failed_total[1h]))",
            legend="{{reason}}",
        ),
        Panel(
            title="Restarts and disruptions, in an hour",
            query='label_replace(sum(increase(qtj_restarts_total[1h])), "kind", "restarts", "", "") or '
            'label_replace(sum(increase(qtj_disruptions_total[1h])), "kind", "disruptions", "", "")',
            legend="{{kind}}",
        ),
        Panel(
            title="From creation to all replicas running (90th percentile)",
            query="histogram_quantile(0.9, sum by (le) (increase(qtj_submit_to_running_seconds_bucket[1h])))",
            unit="s",
        ),
    ),
    "Namespaces": (
        Panel(
            title="Jobs that have not finished",
            query="sum by (job_namespace, phase) (max by (namespace, job_namespace, phase, reason) "
            '(qtj_jobs{job_namespace=~"$team", phase!~"Complete|Failed"}))',
            legend="{{job_namespace}} {{phase}}",
            stacked=True,
        ),
        Panel(
            title="Longest wait, by reason",
            query='max by (job_namespace, reason) (qtj_job_waiting_seconds{job_namespace=~"$team"})',
            legend="{{job_namespace}} {{reason}}",
            unit="s",
        ),
        Panel(
            title="Pods on nodes",
            query="sum by (job_namespace) (max by (namespace, job_namespace, role) "
            '(qtj_replicas{job_namespace=~"$team"}))',
            legend="{{job_namespace}}",
            stacked=True,
        ),
        Panel(
            title="Restarts and disruptions, in an hour, of each namespace",
            query='sum by (job_namespace) (increase(qtj_restarts_total{job_namespace=~"$team"}[1h]) '
            '+ increase(qtj_disruptions_total{job_namespace=~"$team"}[1h]))',
            legend="{{job_namespace}}",
        ),
        Panel(
            title="Failed jobs by reason, in an hour, of each namespace",
            query='sum by (job_namespace, reason) (increase(qtj_jobs_failed_total{job_namespace=~"$team"}[1h])) > 0',
            legend="{{job_namespace}} {{reason}}",
        ),
        Panel(
            title="Hours of pods, in 30 days",
            query="sum by (job_namespace) (sum_over_time(max by (namespace, job_namespace, role) "
            '(qtj_replicas{job_namespace=~"$team"})[30d:5m])) / 12',
            legend="{{job_namespace}}",
            unit="h",
        ),
    ),
    "Training": (
        _of_training("Loss", _by_job("loss")),
        _of_training("Validation loss", _by_job("validation_loss")),
        _of_training("Accuracy on the held-out set", _by_job("accuracy"), "percentunit"),
        _of_training("Epochs finished, of those asked for", f"{_by_job('epoch')} / {_by_job('epochs')}", "percentunit"),
        _of_training("Examples per second", _by_job("examples_per_second")),
        _of_training("Seconds of a step", _by_job("step_seconds"), "s"),
        _of_training("Own part of a step, of the slowest replica", _by_job("own_step_seconds"), "s"),
        _of_training("Own part of a step, of the fastest replica", _by_job("own_step_seconds", "min"), "s"),
        _of_training("Variance of the gradient (vanishing: a barren plateau)", _by_job("gradient_variance"), "sci"),
        _of_training("Time since the last step", _by_job("step_age_seconds"), "s"),
    ),
    "Operator": (
        Panel(title="Who leads", query="max by (namespace, pod) (qtj_leader)", legend="{{namespace}}/{{pod}}"),
        Panel(title="Jobs that wait for a pass", query=_by_operator("qtj_queue_depth"), legend="{{namespace}}"),
        Panel(
            title="Passes per second",
            query="sum by (result) (rate(qtj_reconcile_duration_seconds_count[5m]))",
            legend="{{result}}",
            unit="ops",
        ),
        Panel(
            title="Time of a pass (99th percentile)",
            query="histogram_quantile(0.99, sum by (le) (rate(qtj_reconcile_duration_seconds_bucket[5m])))",
            unit="s",
        ),
        Panel(
            title="Requests to the API server per second",
            query="sum by (verb, code) (rate(qtj_api_requests_total[5m]))",
            legend="{{verb}} {{code}}",
            unit="reqps",
        ),
        Panel(
            title="Time since the last look at all jobs",
            query=f"time() - {_by_operator('qtj_last_resync_timestamp_seconds')}",
            legend="{{namespace}}",
            unit="s",
        ),
    ),
}


def dashboard() -> dict[str, Any]:
    """Returns the dashboard as Grafana imports it."""
    return {
        "title": "Quantum training",
        "uid": "quantumtraining",
        "tags": ["quantumtraining"],
        "schemaVersion": 39,
        "refresh": "30s",
        "time": {"from": "now-3h", "to": "now"},
        "templating": {"list": [_source_choice(), *_choices()]},
        "panels": list(_panels()),
    }


def _source_choice() -> dict[str, Any]:
    return {"name": "datasource", "label": "Prometheus", "type": "datasource", "query": "prometheus"}


def _choices() -> Iterator[dict[str, Any]]:
    yield _choice("team", "Namespaces of jobs", "label_values(qtj_jobs, job_namespace)")
    yield _choice("namespace", "Namespaces of trainings", "label_values(qtj_training_epoch, namespace)")
    yield _choice("job", "Jobs", 'label_values(qtj_training_epoch{namespace=~"$namespace"}, quantum_job)')


def _choice(name: str, label: str, query: str) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "type": "query",
        "datasource": _SOURCE,
        "query": query,
        "includeAll": True,
        "allValue": ".+",
        "multi": True,
        "refresh": 2,
    }


def _panels() -> Iterator[dict[str, Any]]:
    top = 0
    for name, panels in ROWS.items():
        yield {"type": "row", "title": name, "gridPos": {"x": 0, "y": top, "w": _COLUMNS, "h": 1}, "panels": []}
        in_a_line = 2 if len(panels) % 3 else 3
        width = _COLUMNS // in_a_line
        for number, panel in enumerate(panels):
            line, column = divmod(number, in_a_line)
            place = {"x": column * width, "y": top + 1 + line * _HEIGHT, "w": width, "h": _HEIGHT}
            yield _table(panel, place) if panel.columns else _graph(panel, place)
        top += 1 + -(-len(panels) // in_a_line) * _HEIGHT


def _graph(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    stacking = {"stacking": {"mode": "normal"}, "fillOpacity": 40} if panel.stacked else {}
    return {
        "type": "timeseries",
        "title": panel.title,
        "gridPos": place,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {"unit": panel.unit, "custom": stacking}, "overrides": []},
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": panel.query, "legendFormat": panel.legend}],
    }


def _table(panel: Panel, place: dict[str, int]) -> dict[str, Any]:
    columns = [*panel.columns, "Value"]
    order = {
        "excludeByName": {"Time": True},
        "indexByName": {name: number for number, name in enumerate(columns)},
        "renameByName": {**panel.columns, "Value": "Since"},
    }
    return {
        "type": "table",
        "title": panel.title,
        "gridPos": place,
        "datasource": _SOURCE,
        "fieldConfig": {"defaults": {}, "overrides": [_unit_of("Since", panel.unit)]},
        "transformations": [{"id": "organize", "options": order}],
        "targets": [{"refId": "A", "datasource": _SOURCE, "expr": panel.query, "format": "table", "instant": True}],
    }


def _unit_of(column: str, unit: str) -> dict[str, Any]:
    return {"matcher": {"id": "byName", "options": column}, "properties": [{"id": "unit", "value": unit}]}


def _text() -> str:
    return json.dumps(dashboard(), indent=2) + "\n"


if __name__ == "__main__":
    if "--check" in sys.argv:
        sys.exit(TARGET.read_text() != _text() and f"{TARGET.name} is not what {__file__} writes: run `make dashboard`")
    TARGET.write_text(_text())
