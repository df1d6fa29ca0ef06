"""Labels of a job that everything made for it gets too, such as those by which teams are billed.

The administrator of the operator names them, and a job has them where every object has its labels: in its own metadata,
where policies and other programs look for them as well.
"""

from collections.abc import Mapping
from dataclasses import dataclass

from qtj_operator.api.names import GROUP

__all__ = ["NO_LABELS", "CopiedLabels"]

_OF_CONTROLLERS = (GROUP, "kubernetes.io", "k8s.io")
"""Domains whose labels some controller acts on, and subdomains of theirs: ours are what Services and policies select,
Kueue's would put each object into a queue, and Argo CD takes what has its `app.kubernetes.io/instance` for its own."""


@dataclass(frozen=True, slots=True)
class CopiedLabels:
    """Which labels are copied.

    Attributes:
        keys: Keys of labels; one that ends with a slash stands for all keys with this prefix.

    Raises:
        ValueError: A label of this key must not be copied.
    """

    keys: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for key in self.keys:
            prefix, slash, _ = key.partition("/")
            if not prefix:
                raise ValueError(f'"{key}" is no key of a label: write for example cost-center or example.com/team')
            if slash and _is_of_controllers(prefix):
                raise ValueError(
                    f"{key} is not copied, because controllers act on labels of {prefix}: name a label of your own"
                )

    def of(self, labels: Mapping[str, str]) -> dict[str, str]:
        """Returns those of some labels that are copied."""
        return {label: value for label, value in labels.items() if self._has(label)}

    def _has(self, label: str) -> bool:
        prefix, slash, _ = label.partition("/")
        return label in self.keys or bool(slash and f"{prefix}/" in self.keys)


NO_LABELS = CopiedLabels()


def _is_of_controllers(prefix: str) -> bool:
    """Whether a prefix is one of their domains or below it, such as `kueue.x-k8s.io`."""
    ends = tuple(f"{mark}{domain}" for domain in _OF_CONTROLLERS for mark in ".-")
    return prefix in _OF_CONTROLLERS or prefix.endswith(ends)
