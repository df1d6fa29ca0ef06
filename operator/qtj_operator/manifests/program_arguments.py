"""The arguments of the training program, in every template of a job: `--set --seed=3`, and parameters of a study."""

from collections.abc import Iterator
from typing import Any

from qtj_operator.api.job import main_container

__all__ = ["containers_of", "set_argument"]


def set_argument(manifest: dict[str, Any], option: str, value: str) -> bool:
    """Sets an option of the training program; it is added to `args` where it is missing.

    Args:
        manifest: The job.
        option: The option, such as `--seed`.
        value: Its value.

    Returns:
        Whether there is a container that can have it. The fields of the job are not checked yet.
    """
    found = list(containers_of(manifest.get("spec")))
    for container in found:
        for field in ("args", "command"):
            if isinstance(words := container.get(field), list) and _replaced(words, option, value):
                break
        else:
            container["args"] = [*(container.get("args") or ()), f"{option}={value}"]
    return bool(found)


def _replaced(words: list[Any], option: str, value: str) -> bool:
    for index, word in enumerate(words):
        if isinstance(word, str) and word.startswith(f"{option}="):
            words[index] = f"{option}={value}"
            return True
        if word == option and index + 1 < len(words):
            words[index + 1] = value
            return True
    return False


def containers_of(spec: object) -> Iterator[dict[str, Any]]:
    """Yields the main container of each template that replicas have; the fields are not checked yet."""
    fields = spec if isinstance(spec, dict) else {}
    roles = fields.get("replicaSpecs")
    holders = [fields, *(roles.values() if isinstance(roles, dict) else ())]
    for holder in holders:
        template = holder.get("template") if isinstance(holder, dict) else None
        pod = template.get("spec") if isinstance(template, dict) else None
        containers = pod.get("containers") if isinstance(pod, dict) else None
        if isinstance(containers, list) and containers and all(isinstance(each, dict) for each in containers):
            yield main_container(containers)
