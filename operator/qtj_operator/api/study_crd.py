"""Generates the CustomResourceDefinition of QuantumTrainingStudies from the models."""

from typing import Any

from qtj_operator.api.definition import Kind, crd_text, definition, object_schema
from qtj_operator.api.names import NAME_PATTERN
from qtj_operator.api.study import MAX_STUDY_NAME_LENGTH, STUDY_KIND, STUDY_PLURAL, StudySpec
from qtj_operator.api.study_status import StudyStatus

__all__ = ["study_crd", "study_crd_yaml"]

_SOURCES = "operator/qtj_operator/api/{study,study_parameters,study_status,study_stopping}.py"

_COLUMNS: tuple[dict[str, Any], ...] = (
    {"name": "Phase", "type": "string", "jsonPath": ".status.phase"},
    {"name": "Reason", "type": "string", "jsonPath": '.status.conditions[?(@.type=="Running")].reason'},
    {"name": "Trials", "type": "string", "jsonPath": ".status.finished"},
    {"name": "Best", "type": "number", "jsonPath": ".status.best.objective"},
    {"name": "Metric", "type": "string", "jsonPath": ".spec.objective.metric"},
    {"name": "Final", "type": "number", "jsonPath": ".status.final.mean", "priority": 1},
    {"name": "Age", "type": "date", "jsonPath": ".metadata.creationTimestamp"},
)

_NAME_RULES = (
    {
        "rule": f"self.metadata.name.size() <= {MAX_STUDY_NAME_LENGTH}",
        "message": f"metadata.name may have at most {MAX_STUDY_NAME_LENGTH} characters, because trials are jobs that "
        "are named after it",
    },
    {
        "rule": f"self.metadata.name.matches('{NAME_PATTERN}')",
        "message": "metadata.name must start with a letter and hold only a-z, 0-9 and -, because trials are named "
        "after it",
    },
)


def study_crd() -> dict[str, Any]:
    """Returns the CustomResourceDefinition as a manifest."""
    description = "Runs a QuantumTrainingJob with several settings and seeds, and compares what they report."
    schema = object_schema(description, STUDY_KIND, StudySpec, StudyStatus, _NAME_RULES)
    return definition(Kind(STUDY_KIND, STUDY_PLURAL, "qts"), schema, {"status": {}}, _COLUMNS)


def study_crd_yaml() -> str:
    """Returns the CRD as YAML, as it is in the repository."""
    return crd_text(study_crd(), _SOURCES)
