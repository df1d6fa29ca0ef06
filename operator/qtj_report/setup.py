"""The sections about the settings of a run: resources, options, versions, and how to repeat it."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from qtj_contract.quantities import in_words
from qtj_report.content import Content, TrainingRecord
from qtj_report.element import Child, node
from qtj_report.parts import facts, listing, section
from qtj_report.wording import duration, number, option_text

__all__ = ["circuit_section", "options_section", "repeat_section", "resources_section", "versions_section"]


_MOST_VERSIONS = 12
"""Shown without being folded."""


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


def versions_section(found: Content) -> Element:
    """Returns the versions of the libraries; many are folded, because a program imports more than it names."""
    image = {"image": found.record.image} if found.record.image else {}
    shown = facts(image | dict(sorted(found.versions.items())))
    if len(found.versions) > _MOST_VERSIONS:
        shown = node("details", node("summary", f"{len(found.versions)} packages"), shown)
    return section("Versions", shown)


def resources_section(found: Content) -> Element:
    """Returns the recorded use of resources, and the requests and limits."""
    return section("Resources", facts(dict(_resources(found))))


def repeat_section(found: Content) -> Element:
    """Returns the YAML of the job with the command that runs it again, and the digest of its weights."""
    digest = f"The weights of this run have the SHA-256 digest {found.weights_sha256}."
    check = node("p", digest, class_="note digest") if found.weights_sha256 else None
    return section("Repeat this run", *_repetition(found), check)


def _repetition(found: Content) -> Iterator[Element]:
    if found.repetition is None:
        return
    file = node("code", found.repetition.file)
    yield node("p", "Save the following YAML as ", file, f", and run it {_with(found)}.")
    if missing := _not_recorded(found):
        yield node("p", f"Not recorded: {', '.join(missing)}.", class_="note")
    yield node("p", "The last digits depend on the processor.", class_="note")
    yield listing(found.repetition.command, "command")
    yield listing(found.repetition.text, "YAML of the job")


def _with(found: Content) -> str:
    """Returns with what to run it again."""
    known = {
        f"git commit {found.origin.commit}": found.origin.commit,
        "the program above": found.programs,
        "the versions above": found.versions,
    }
    given = [words for words, value in known.items() if value]
    return f"with {', '.join(given)}" if given else "with the same image, or the same files"


def _not_recorded(found: Content) -> list[str]:
    """Returns what of an own program is not recorded; the trainer's workloads have options instead."""
    if found.record.workload:
        return []
    known = {"the program": found.programs, "its git commit": found.origin.commit, "versions": found.versions}
    return [words for words, value in known.items() if not value]


def _resources(found: Content) -> Iterator[tuple[str, Child]]:
    if found.replicas:
        yield "replicas", ", ".join(f"{count} × {role}" for role, count in found.replicas.items())
    devices = [each.devices for each in found.epochs if each.devices]
    if devices:
        yield "devices", str(devices[-1])
    trained = sum(each.seconds for each in found.stages if each.name == "training")
    if trained and found.replicas:
        count = sum(found.replicas.values())
        yield "replica time", f"{duration(trained * count)} ({count} × {duration(trained)} of training)"
    if found.step:
        yield "a step", found.step
    if found.stragglers:
        yield "stragglers", "; ".join(found.stragglers)
    if found.examples_per_second:
        yield "throughput", f"{number(found.examples_per_second)} training examples per second"
    for kind, amounts in found.resources.items():
        yield kind, ", ".join(f"{name} {amount}" for name, amount in amounts.items())
    if found.record.weights_bytes is not None:
        yield "size of the weights", in_words(found.record.weights_bytes)
