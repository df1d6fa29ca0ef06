"""The sections about the settings of a run: resources, options, versions, and how to repeat it."""

from collections.abc import Iterator, Mapping
from typing import Any
from xml.etree.ElementTree import Element

import yaml

from qtj.report.details import RunDetails
from qtj.report.html.element import Child, node
from qtj.report.html.parts import facts, listing, section
from qtj.report.html.wording import duration, number, option_text
from qtj.report.training_record import TrainingRecord
from qtj.terminal.text import shell_word
from qtj_contract.quantities import in_words
from qtj_operator.api.job import main_container

__all__ = ["circuit_section", "options_section", "repeat_section", "resources_section", "versions_section"]

_WIDTH = 100


def circuit_section(record: TrainingRecord) -> Element:
    """Returns the drawing of the circuit, and the names of its files."""
    files = node(
        "p", "With its learned angles, relative to the artifacts: ", ", ".join(record.circuit_files), class_="note"
    )
    drawing = listing(record.circuit, "circuit") if record.circuit else None
    return section("Circuit", drawing, files if record.circuit_files else None, class_="circuit")


def options_section(record: TrainingRecord) -> Element:
    """Returns all options of the trainer, also those with their default values."""
    title = f"Options of {record.workload}" if record.workload else "Options"
    return section(title, facts({name: option_text(value) for name, value in sorted(record.options.items())}))


def versions_section(record: TrainingRecord) -> Element:
    """Returns the versions of the libraries that affect the numbers."""
    image = {"image": record.image} if record.image else {}
    return section("Versions", facts(image | dict(sorted(record.versions.items()))))


def resources_section(details: RunDetails) -> Element:
    """Returns the recorded use of resources, and the requests and limits."""
    return section("Resources", facts(dict(_resources(details))))


def repeat_section(details: RunDetails) -> Element:
    """Returns the YAML of the job and the command that runs it again."""
    text = yaml.safe_dump(details.manifest, sort_keys=False, width=_WIDTH, allow_unicode=True)
    file = f"{details.manifest['metadata']['name']}.yaml"
    command = listing(f"qtj run {shell_word(file)}", "command")
    versions = " with the versions above" if details.record.versions else ""
    weights = details.results.status.weights
    check = f"The weights of this run have the SHA-256 digest {weights.sha256}." if weights and weights.sha256 else None
    return section(
        "Repeat this run",
        node(
            "p",
            "Save the following YAML as ",
            node("code", file),
            f", and run it{versions}. The last digits depend on the processor.",
        ),
        command,
        listing(text, "YAML of the job"),
        node("p", check, class_="note digest") if check else None,
    )


def _resources(details: RunDetails) -> Iterator[tuple[str, Child]]:
    replicas = details.results.status.replicas or {}
    if replicas:
        yield "replicas", ", ".join(f"{each.desired} × {role}" for role, each in replicas.items())
    devices = [each.devices for each in details.results.epochs if each.devices]
    if devices:
        yield "devices", str(devices[-1])
    trained = sum(each.seconds for each in details.stages if each.name == "training")
    if trained and replicas:
        count = sum(each.desired for each in replicas.values())
        yield "replica time", f"{duration(trained * count)} ({count} × {duration(trained)} of training)"
    if details.examples_per_second:
        yield "throughput", f"{number(details.examples_per_second)} training examples per second"
    for kind, amounts in _requested(details.manifest).items():
        yield kind, ", ".join(f"{name} {amount}" for name, amount in amounts.items())
    if details.record.weights_bytes is not None:
        yield "size of the weights", in_words(details.record.weights_bytes)


def _requested(manifest: Mapping[str, Any]) -> Mapping[str, Mapping[str, Any]]:
    """Returns requests and limits of a replica, as far as the template has them; the record may have been edited."""
    try:
        resources = main_container(manifest["spec"]["template"]["spec"]["containers"])["resources"]
        return {f"{kind} of a replica": dict(resources[kind]) for kind in ("requests", "limits") if kind in resources}
    except (KeyError, TypeError, AttributeError, ValueError, IndexError):
        return {}
