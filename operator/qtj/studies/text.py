"""A study on the terminal: the same facts as on its page."""

from collections.abc import Iterator

from qtj.terminal.text import columns
from qtj_operator.api.study_status import TrialPhase
from qtj_report.study import StudyContent
from qtj_report.wording import share

__all__ = ["study_text"]


def study_text(found: StudyContent) -> str:
    """Returns how a study stands: its points, the best first, what they say, and why trials have failed."""
    table = columns([found.headings, *(each.cells for each in found.points)])
    failed = [f"{each.name} failed: {each.message}" for each in found.trials if each.phase == TrialPhase.FAILED]
    return "\n".join([found.headline, found.counts, "", table, *_findings(found), *failed, *found.notes])


def _findings(found: StudyContent) -> Iterator[str]:
    if found.final:
        yield found.final
    yield from found.comparison
    if found.influences:
        shares = (f"{each.name} {share(each.share)} (by chance {share(each.by_chance)})" for each in found.influences)
        yield f"share of the variance of all runs: {', '.join(shares)}; the rest: seeds, and parameters together"
