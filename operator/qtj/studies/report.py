"""`qtj report` of a study: its table again, from its record alone."""

import re

from qtj.studies.record import StudyRecord, recorded_study
from qtj.studies.table import study_data, study_text
from qtj.terminal.output_format import OutputFormat, formatted
from qtj_operator.api.names import NAME_PATTERN

__all__ = ["study_report"]


def study_report(name: str, output: OutputFormat | None) -> str:
    """Returns the table of a study that was run here; "" if the name is that of no study.

    Args:
        name: The name on the command line.
        output: The format for programs; None for people.

    Raises:
        InputError: Its record cannot be read.
    """
    if not re.fullmatch(NAME_PATTERN, name) or not StudyRecord(name).exists:
        return ""
    spec, status = StudyRecord(name).load()
    if output is None:
        return study_text(name, spec, status)
    return formatted([study_data(recorded_study(name, spec, status), spec, status)], output)
