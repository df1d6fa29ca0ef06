"""Rules that no keyword of a schema can express.

Each is written twice: in CEL for the API server, and in Python for an object that was stored before the rule existed.
"""

import re
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from pydantic import AfterValidator
from pydantic_core import PydanticCustomError

__all__ = ["Rule", "broken", "cel", "checked", "enforce", "matching", "validations"]


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule about a field.

    Attributes:
        cel: The rule as the API server evaluates it.
        holds: The same in Python.
        message: What to do, for the user who broke it.
        path: The field below that it is about, as in `.runPolicy.elastic`: without that, the rule holds.
    """

    cel: str
    holds: Callable[[Any], bool]
    message: str
    path: str | None = None

    @property
    def keyword(self) -> dict[str, str]:
        """The rule as the CRD has it."""
        return {"rule": self.cel, "message": self.message, **({"fieldPath": self.path} if self.path else {})}


def matching(pattern: str, message: str) -> Rule:
    """Returns the rule that a text matches a pattern, in the syntax that RE2 and Python share: ^...$."""
    return Rule(f"self.matches('{pattern}')", lambda text: re.fullmatch(pattern, text) is not None, message)


def checked(*rules: Rule) -> AfterValidator:
    """Returns the annotation of a type that rejects values which break one of the rules."""

    def check(value: Any) -> Any:
        enforce(value, *rules)
        return value

    return AfterValidator(check)


def enforce(value: object, *rules: Rule) -> None:
    """Rejects a value that breaks one of the rules, with an error that pydantic collects."""
    for rule in rules:
        if not rule.holds(value):
            raise broken(rule.message)


def broken(sentence: str) -> PydanticCustomError:
    """Returns the error about a rule that is broken, with a sentence for the user."""
    return PydanticCustomError("rule", "{sentence}", {"sentence": sentence})


def validations(*rules: Rule) -> dict[str, Any]:
    """Returns the keyword of the CRD that holds the rules."""
    return {"x-kubernetes-validations": [rule.keyword for rule in rules]}


def cel(*rules: tuple[str, str]) -> dict[str, Any]:
    """Returns the same for rules, each with its message, of which a validator in Python names the values."""
    return {"x-kubernetes-validations": [{"rule": rule, "message": message} for rule, message in rules]}
