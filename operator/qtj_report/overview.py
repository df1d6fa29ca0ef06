"""The head of a page: what ran, how it ended, and the most important numbers."""

from collections.abc import Iterator
from xml.etree.ElementTree import Element

from qtj_report.content import Content
from qtj_report.element import node
from qtj_report.kept import kept_weights
from qtj_report.parts import card
from qtj_report.wording import duration, metric_name, moment, number

__all__ = ["cards", "heading", "phase_badge"]

_SIGNS = {"Complete": "✓", "Failed": "✕"}


def heading(found: Content) -> Element:
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


def cards(found: Content) -> Element:
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
