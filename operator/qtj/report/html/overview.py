"""The head of a page: what ran, how it ended, and the most important numbers."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from qtj.report.details import RunDetails
from qtj.report.html.element import node
from qtj.report.html.parts import card
from qtj.report.html.wording import duration, moment, number
from qtj.report.results import RunResults

__all__ = ["cards", "heading", "phase_badge"]

_SIGNS = {"Complete": "✓", "Failed": "✕"}


def heading(details: RunDetails) -> Element:
    """Returns title, phase and the sentence on how the run ended."""
    found = details.results
    began = f"Started {moment(details.began)}" if details.began else "Not started"
    title = node("h1", found.title, " ", phase_badge(found.phase))
    return node(
        "header",
        node("p", "QuantumTrainingJob", class_="kind"),
        title,
        node("p", found.headline),
        node("p", began, class_="note"),
    )


def phase_badge(phase: str) -> Element:
    """Returns a phase as a coloured word with a symbol."""
    sign = _SIGNS.get(phase, "•")
    return node("span", f"{sign} {phase}", class_=f"phase {phase.lower()}")


def cards(details: RunDetails) -> Element:
    """Returns the most important numbers."""
    found = details.results
    return node("dl", *_training_cards(found), *_metric_cards(found), *_time_cards(details), class_="cards")


def _training_cards(found: RunResults) -> Iterator[Element]:
    progress = found.status.progress
    if found.epochs:
        last = found.epochs[-1]
        asked = f" of {progress.epochs}" if progress and progress.epochs else ""
        yield card("Training loss", number(last.loss), f"epoch {last.number}{asked}")
    held_out = [(each.validation_loss, each.number) for each in found.epochs if each.validation_loss is not None]
    if held_out:
        loss, epoch = min(held_out)
        yield card("Held-out loss", number(loss), f"lowest, epoch {epoch}")
    accuracies = [each for each in found.epochs if each.accuracy is not None]
    if accuracies:
        yield card("Accuracy", number(accuracies[-1].accuracy), f"held-out set, epoch {accuracies[-1].number}")


def _metric_cards(found: RunResults) -> Iterator[Element]:
    source = "inference" if found.status.inference and found.status.inference.metrics else "training"
    for name, value in found.metrics.items():
        yield card(name, number(value), source)


def _time_cards(details: RunDetails) -> Iterator[Element]:
    if details.seconds is not None:
        attempts = len(details.attempts)
        yield card(
            "Time", duration(details.seconds), f"{attempts} attempt{'s' if attempts > 1 else ''}" if attempts else ""
        )
    if details.examples_per_second:
        yield card("Throughput", number(details.examples_per_second), "examples per second")
