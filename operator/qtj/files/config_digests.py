"""Digests of the ConfigMaps and Secrets that a job refers to: they show whether one has changed since it ran.

That of a Secret is made with a key, so that who reads the folder of a run cannot find its values by trying.
"""

from collections.abc import Iterator, Mapping
from typing import Any

from qtj.local.key import keyed_digest
from qtj.local.variables import Configs
from qtj_operator.api.digest import digest_of

__all__ = ["changed_configs", "digests_of"]

_KINDS = {
    "configMapRef": "ConfigMap",
    "configMapKeyRef": "ConfigMap",
    "secretRef": "Secret",
    "secretKeyRef": "Secret",
}


def digests_of(manifest: Mapping[str, Any], configs: Configs) -> Mapping[str, str]:
    """Returns a digest of the data of each ConfigMap and Secret, by kind and name, such as "ConfigMap settings".

    Args:
        manifest: The job, which may have mistakes.
        configs: The ConfigMaps and Secrets of the file; others are left out.
    """
    named = {each for each in (*_references(manifest.get("spec")), *_of_program(manifest)) if each in configs}
    return {f"{kind} {name}": _digest(kind, configs[kind, name]) for kind, name in sorted(named)}


def changed_configs(before: Mapping[str, str] | None, now: Mapping[str, str]) -> list[str]:
    """Returns the names in digests that differ, in order; nothing where the earlier digests are not known."""
    return [] if before is None else sorted(name for name in {*now, *before} if now.get(name) != before.get(name))


def _of_program(manifest: Mapping[str, Any]) -> Iterator[tuple[str, str]]:
    spec = manifest.get("spec")
    program = spec.get("program") if isinstance(spec, dict) else None
    if isinstance(program, dict) and isinstance(name := program.get("configMap"), str):
        yield "ConfigMap", name


def _references(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for key, each in value.items():
            name = each.get("name") if key in _KINDS and isinstance(each, dict) else None
            if isinstance(name, str):
                yield _KINDS[key], name
            yield from _references(each)
    elif isinstance(value, list):
        for each in value:
            yield from _references(each)


def _digest(kind: str, data: Mapping[str, str]) -> str:
    if kind == "Secret":
        return keyed_digest(data)
    return digest_of(data)
