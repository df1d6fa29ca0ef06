"""The file with the defaults and ceilings of jobs, which is read once, when the operator starts."""

from pathlib import Path

import yaml

from qtj_operator.api.platform_settings import PlatformSettings, SettingsError

__all__ = ["read_job_settings"]


def read_job_settings(file: str) -> PlatformSettings:
    """Returns defaults and ceilings for jobs.

    Raises:
        SettingsError: The file cannot be read, or is wrong; the message is one sentence that names it.
    """
    try:
        return PlatformSettings.parse(yaml.safe_load(Path(file).read_text(encoding="utf-8")))
    except (OSError, ValueError, yaml.YAMLError) as error:
        raise SettingsError(f"{file} cannot be used: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    match error:
        case SettingsError():
            return str(error)
        case OSError():
            return str(error.strerror)
        case yaml.MarkedYAMLError(problem_mark=yaml.Mark() as mark):
            return f"line {mark.line + 1} is no YAML: {error.problem}"
        case _:
            return "it is no YAML in UTF-8"
