"""Mistakes in pod templates and in metadata: fields and types first, then the rules that Kubernetes adds to them."""

from collections.abc import Iterator
from typing import Any

from qtj.rules.metadata import broken_metadata
from qtj.rules.mistakes import Mistake
from qtj.rules.models import shipped_models
from qtj.rules.pod import broken_rules

__all__ = ["metadata_mistakes", "template_mistakes"]


def template_mistakes(template: Any) -> Iterator[Mistake]:
    """Yields what is wrong with a PodTemplateSpec: unknown fields, wrong types or, without these, broken rules."""
    found = list(shipped_models().mistakes(template, "V1PodTemplateSpec"))
    yield from found or broken_rules(template)


def metadata_mistakes(metadata: Any) -> Iterator[Mistake]:
    """Yields what is wrong with the metadata of any object: unknown fields, wrong types, and broken rules."""
    yield from shipped_models().mistakes(metadata, "V1ObjectMeta")
    yield from broken_metadata(metadata)
