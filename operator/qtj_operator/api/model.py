"""What all models share."""

from datetime import datetime
from typing import Annotated

from pydantic import BaseModel, ConfigDict, PlainSerializer, WithJsonSchema
from pydantic.alias_generators import to_camel

__all__ = ["Model", "Timestamp"]


class Model(BaseModel):
    """Immutable, camelCase outside and snake_case inside, and no field that we do not know."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True, extra="forbid", frozen=True)


Timestamp = Annotated[
    datetime,
    PlainSerializer(lambda moment: moment.strftime("%Y-%m-%dT%H:%M:%SZ"), return_type=str),
    WithJsonSchema({"type": "string", "format": "date-time"}),
]
"""A moment to the second in UTC, as Kubernetes writes it."""
