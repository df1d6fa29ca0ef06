"""The configuration by which a platform gives defaults and ceilings to jobs, for all namespaces and for single ones."""

from collections.abc import Mapping
from typing import Self

from pydantic import Field, ValidationError

from qtj_operator.api.platform_policy import NO_POLICY, PlatformPolicy
from qtj_operator.api.reading import MAPPING, dotted, faults

__all__ = ["NO_SETTINGS", "PlatformSettings", "SettingsError"]


class SettingsError(ValueError):
    """A configuration that cannot be used; the message is one sentence."""


class PlatformSettings(PlatformPolicy):
    """Defaults and ceilings for jobs.

    Attributes:
        namespaces: What is otherwise in a namespace: each value there replaces that of all namespaces.
    """

    namespaces: Mapping[str, PlatformPolicy] = Field({}, description="By namespace, values that differ there.")

    @classmethod
    def parse(cls, written: object) -> Self:
        """Reads a configuration as YAML has it.

        Raises:
            SettingsError: It has a field that there is not, or a value that no job may have.
        """
        if written is None:
            return cls()
        if not isinstance(written, dict):
            raise SettingsError(MAPPING)
        try:
            settings = cls.read(written)
            for namespace in settings.namespaces:
                _checked(settings, namespace)
        except ValidationError as error:
            path, what = next(faults(error))
            raise SettingsError(f"{dotted(path)}: {what}" if path else what) from None
        return settings

    def policy_of(self, namespace: str) -> PlatformPolicy:
        """Returns what jobs of a namespace get."""
        own = self.namespaces.get(namespace, NO_POLICY)
        return PlatformPolicy(defaults=own.defaults.over(self.defaults), ceilings=own.ceilings.over(self.ceilings))


NO_SETTINGS = PlatformSettings()


def _checked(settings: PlatformSettings, namespace: str) -> None:
    """Checks that the defaults of a namespace are below its ceilings, wherever each of them is from."""
    try:
        settings.policy_of(namespace)
    except ValidationError as error:
        _, what = next(faults(error))
        raise SettingsError(f"namespaces.{namespace}: {what}") from None
