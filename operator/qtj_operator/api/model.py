"""The base class of all models, and types that they share."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, Literal, Self

from pydantic import BaseModel, BeforeValidator, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

from qtj_contract.timestamps import rfc3339

__all__ = ["Model", "Timestamp", "WrittenStatus", "null_as"]


def null_as(empty: object) -> BeforeValidator:
    """Returns the annotation of a field that reads null as `empty`, because an API server treats null as left out."""
    return BeforeValidator(lambda value: empty if value is None else value)


class Model(BaseModel):
    """An immutable model, with camelCase names in YAML and snake_case names in Python, which rejects unknown fields."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)

    @classmethod
    def read(cls, written: Mapping[str, Any], *, extra: Literal["ignore"] | None = None) -> Self:
        """Reads an object whose fields have the names of the schema, not their Python names.

        Raises:
            ValidationError: It breaks a rule of the schema.
        """
        return cls.model_validate(written, extra=extra, by_alias=True, by_name=False)

    def changed(self, **values: Any) -> Self:
        """Returns a copy with other values; unlike `model_copy`, it rejects names that are not fields.

        Args:
            values: By the fields' Python names. Their types are not checked.

        Raises:
            TypeError: There is no such field.
        """
        unknown = values.keys() - type(self).model_fields.keys()
        if unknown:
            raise TypeError(f"{type(self).__name__} has no field {', '.join(sorted(unknown))}")
        return self.model_copy(update=values)


class WrittenStatus(Model):
    """The status of an object, which only the operator writes."""

    def to_dict(self, written: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Returns the status as the API server stores it.

        Args:
            written: The status that it replaces. Fields that an operator of a later version wrote there stay.
        """
        names = {field.alias for field in type(self).model_fields.values()}
        unknown = {name: value for name, value in (written or {}).items() if name not in names}
        return {**unknown, **self.model_dump(by_alias=True, exclude_none=True, mode="json")}


Timestamp = Annotated[
    datetime,
    PlainSerializer(rfc3339, return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment to the second in UTC, as Kubernetes writes it."""
