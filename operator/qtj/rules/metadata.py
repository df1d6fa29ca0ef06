"""Rules about the metadata of an object that types of fields cannot express.

Source: apimachinery 0.34, `ValidateObjectMeta` and `ValidateAnnotations` (pkg/api/validation/objectmeta.go) and
`ValidateLabels` (pkg/apis/meta/v1/validation); `ValidateNamespaceName` is `NameIsDNSLabel`.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj.rules.mistakes import Mistake
from qtj.rules.names import dns_label, label_value, qualified_name

__all__ = ["broken_labels", "broken_metadata"]

_MOST_BYTES = 256 * 1024
"""`TotalAnnotationSizeLimitB`: the limit for all annotations of an object together, keys and values."""


def broken_metadata(metadata: Any) -> Iterator[Mistake]:
    """Yields the rules that metadata breaks. Fields with a wrong type are skipped."""
    meta = metadata if isinstance(metadata, Mapping) else {}
    if isinstance(namespace := meta.get("namespace"), str) and (what := dns_label(namespace)):
        yield ("namespace",), what
    yield from ((("labels", *path), what) for path, what in broken_labels(meta.get("labels")))
    annotations = _mapping(meta.get("annotations"))
    for key in annotations:
        if what := qualified_name(key.lower()):
            yield ("annotations", key), what
    size = sum(len(text.encode(errors="replace")) for each in annotations.items() for text in each if text)
    if size > _MOST_BYTES:
        yield ("annotations",), f"these have {size:,} bytes, and Kubernetes accepts {_MOST_BYTES:,}: shorten them"


def broken_labels(labels: Any) -> Iterator[Mistake]:
    """Yields the rules that labels, or a selector of labels, break."""
    for key, value in _mapping(labels).items():
        if what := qualified_name(key) or label_value(value or ""):
            yield (key,), what


def _mapping(written: object) -> Mapping[str, str | None]:
    """Returns the entries whose values are text or empty."""
    entries = written.items() if isinstance(written, Mapping) else ()
    return {key: value for key, value in entries if isinstance(value, str | None)}
