"""Fields in the spelling of `/api/projects`."""

from pydantic import BaseModel, ConfigDict
from pydantic.alias_generators import to_camel


class CamelShape(BaseModel):
    """What is answered."""

    model_config = ConfigDict(alias_generator=to_camel, populate_by_name=True)


class CamelBody(BaseModel):
    """What is sent: these fields, of these kinds, and no others."""

    model_config = ConfigDict(
        alias_generator=to_camel, populate_by_name=True, extra="forbid", strict=True
    )
