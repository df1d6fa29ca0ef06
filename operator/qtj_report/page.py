"""The page of one run, section by section, and the words and numbers at its head."""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from xml.etree.ElementTree import Element

from qtj_contract.origin import Origin
from qtj_contract.program_source import ProgramSource
from qtj_contract.progress_log import EpochRecord
from qtj_contract.quantities import in_words
from qtj_report.content import Attempt, Content, FailedReplica, Stage, TrainingRecord
from qtj_report.element import Child, card, document, facts, listing, node, section, table
from qtj_report.picture import epoch_table, training_charts
from qtj_report.predictions import finite_pairs, predictions_section
from qtj_report.wording import duration, kept_weights, metric_name, moment, number, option_text, share

__all__ = ["phase_badge", "run_page"]

_SIGNS = {"Complete": "✓", "Failed": "✕"}
_MOST_VERSIONS = 12
"""Shown without being folded."""
_MOST_CHARACTERS = 200_000
"""Of the text of one file: a page is to open quickly."""
_COLORS = {"training": 0, "inferring": 2, "restarting": 1, "suspended": 5, "failed": 3}
_PREPARING = 4
"""The colour of all other stages, such as starting."""
_SHADES = (1.0, 0.45, 0.75, 0.3, 0.6)


def run_page(found: Content, written: datetime) -> str:
    """Returns the page of a run: the results first, then how it was run, then how to repeat it."""
    title = f"{found.title}: {found.phase}"
    return document(title, [_heading(found), _cards(found), *_results(found), *_conditions(found)], written)


def _results(found: Content) -> Iterator[Element]:
    if found.notes:
        yield section("Notes", node("ul", *(node("li", note) for note in found.notes)))
    if found.epochs:
        charts = node("div", *(each.figure for each in training_charts(found.epochs)), class_="charts")
        yield section("Training", charts, epoch_table(found.epochs))
    if found.predictions and finite_pairs(found.predictions):
        yield predictions_section(found.predictions)


def _conditions(found: Content) -> Iterator[Element]:
    record = found.record
    if record.circuit or record.circuit_files:
        yield _circuit_section(record)
    if found.stages:
        yield _time_section(found.stages)
    if found.attempts or found.failures:
        yield _attempts_section(found)
    yield _resources_section(found)
    if found.programs:
        yield _program_section(found.programs, found.origin)
    if record.options:
        yield _options_section(record)
    if found.versions:
        yield _versions_section(found)
    if found.repetition or found.weights_sha256:
        yield _repeat_section(found)


def _heading(found: Content) -> Element:
    """Returns title, phase and the sentence on how the run ended."""
    began = f"Started {moment(found.began)}" if found.began else "Not started"
    kept = kept_weights(found)
    title = node("h1", found.title, " ", phase_badge(found.phase))
    return node(
        "header",
        node("p", "QuantumTrainingJob", class_="kind"),
        title,
        node("p", found.headline),
        node("p", kept[0].upper() + kept[1:], class_="note") if kept else None,
        node("p", began, class_="note"),
    )


def phase_badge(phase: str) -> Element:
    """Returns a phase as a coloured word with a symbol."""
    sign = _SIGNS.get(phase, "•")
    return node("span", f"{sign} {phase}", class_=f"phase {phase.lower()}")


def _cards(found: Content) -> Element:
    """Returns the most important numbers."""
    return node("dl", *_training_cards(found), *_metric_cards(found), *_time_cards(found), class_="cards")


def _training_cards(found: Content) -> Iterator[Element]:
    if found.epochs:
        last = found.epochs[-1]
        asked = f" of {found.asked}" if found.asked else ""
        yield card("Training loss", number(last.loss), f"epoch {last.number}{asked}")
    held_out = [(each.validation_loss, each.number) for each in found.epochs if each.validation_loss is not None]
    if held_out:
        loss, epoch = min(held_out)
        yield card("Held-out loss", number(loss), f"lowest, epoch {epoch}")
    accuracies = [each for each in found.epochs if each.accuracy is not None]
    if accuracies:
        yield card("Accuracy", number(accuracies[-1].accuracy), f"held-out set, epoch {accuracies[-1].number}")


def _metric_cards(found: Content) -> Iterator[Element]:
    for name, value in found.metrics.items():
        yield card(metric_name(name, found.measured_by), number(value), found.measured_by)


def _time_cards(found: Content) -> Iterator[Element]:
    if found.seconds is not None:
        attempts = len(found.attempts)
        yield card(
            "Time", duration(found.seconds), f"{attempts} attempt{'s' if attempts > 1 else ''}" if attempts else ""
        )
    if found.examples_per_second:
        yield card("Throughput", number(found.examples_per_second), "examples per second")


def _circuit_section(record: TrainingRecord) -> Element:
    """Returns the drawing of the circuit, and the names of its files."""
    files = node(
        "p", "With its learned angles, relative to the artifacts: ", ", ".join(record.circuit_files), class_="note"
    )
    drawing = listing(record.circuit, "circuit") if record.circuit else None
    return section("Circuit", drawing, files if record.circuit_files else None, class_="circuit")


def _options_section(record: TrainingRecord) -> Element:
    """Returns all options of the trainer, also those with their default values."""
    title = f"Options of {record.workload}" if record.workload else "Options"
    return section(title, facts({name: option_text(value) for name, value in sorted(record.options.items())}))


def _versions_section(found: Content) -> Element:
    """Returns the versions of the libraries; many are folded, because a program imports more than it names."""
    image = {"image": found.record.image} if found.record.image else {}
    shown = facts(image | dict(sorted(found.versions.items())))
    if len(found.versions) > _MOST_VERSIONS:
        shown = node("details", node("summary", f"{len(found.versions)} packages"), shown)
    return section("Versions", shown)


def _resources_section(found: Content) -> Element:
    """Returns the recorded use of resources, and the requests and limits."""
    return section("Resources", facts(dict(_resources(found))))


def _repeat_section(found: Content) -> Element:
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


def _program_section(programs: Mapping[str, ProgramSource], origin: Origin) -> Element:
    """Returns the section of at least one program, with where it comes from."""
    arguments: dict[str, Child] = {path: " ".join(each.arguments) or "no arguments" for path, each in programs.items()}
    return section("Program", facts({**arguments, **origin.facts()}), *_texts(programs))


def _texts(programs: Mapping[str, ProgramSource]) -> Iterator[Element]:
    for name, text in {name: text for each in programs.values() for name, text in each.code.items()}.items():
        rest = len(text) - _MOST_CHARACTERS
        cut = [node("p", f"{rest} more characters are in the folder source of the artifacts.")] if rest > 0 else []
        yield node("details", node("summary", name), listing(text[:_MOST_CHARACTERS], name), *cut)


def _time_section(stages: Sequence[Stage]) -> Element:
    """Returns the time of each stage, as a bar and as a table."""
    total = sum(each.seconds for each in stages)
    looks = [_look(each, place) for place, each in enumerate(stages)]
    bar = [
        node("span", node("span", **look), style=f"flex-grow: {each.seconds:.0f}")
        for each, look in zip(stages, looks, strict=True)
    ]
    rows = [
        (
            node("span", node("i", **look, aria_hidden="true"), each.name),
            duration(each.seconds),
            share(each.seconds / total),
        )
        for each, look in zip(stages, looks, strict=True)
    ]
    return section(
        "Time",
        node("div", *bar, class_="bar", aria_hidden="true"),
        table(("Stage", "Time", "Share"), rows, numbers=(1, 2)),
    )


def _attempts_section(found: Content) -> Element:
    """Returns the attempts with the reason for the end of each, and the replicas that failed."""
    rows = [_attempt_row(each, found.epochs) for each in found.attempts]
    return section(
        "Attempts",
        table(("Attempt", "Began", "Time", "Epochs", "Ended by"), rows, numbers=(2,)) if rows else None,
        _failure_table(found.failures) if found.failures else None,
    )


def _attempt_row(attempt: Attempt, epochs: Sequence[EpochRecord]) -> Sequence[str]:
    own = [each.number for each in epochs if each.attempt == attempt.number]
    numbers = f"{own[0]} to {own[-1]}" if len(own) > 1 else "".join(map(str, own)) or "–"
    end = attempt.end or "nothing yet"
    return str(attempt.number), moment(attempt.began), duration(attempt.seconds), numbers, end


def _failure_table(failures: Sequence[FailedReplica]) -> Element:
    rows = [
        (each.pod, str(each.attempt), "–" if each.exit_code is None else str(each.exit_code), each.reason, each.message)
        for each in failures
    ]
    return table(("Failed replica", "Attempt", "Exit code", "Reason", "Message"), rows, numbers=(1, 2))


def _look(stage: Stage, place: int) -> dict[str, str]:
    """Returns colour and shade of a stage; those that share a colour differ in their shade."""
    known = _COLORS.get(stage.name)
    if known is not None:
        return {"class_": f"b{known}"}
    return {"class_": f"b{_PREPARING}", "style": f"opacity: {_SHADES[place % len(_SHADES)]}"}
