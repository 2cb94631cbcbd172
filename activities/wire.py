"""The one shape of everything that crosses Temporal, HTTP or the store."""

from typing import Annotated, TypeVar

from pydantic import BaseModel, ConfigDict, Field
from pydantic.alias_generators import to_camel

T = TypeVar("T")

# A field that the wire form leaves out while it is None: what few values have costs the others nothing.
Sparse = Annotated[T | None, Field(exclude_if=lambda value: value is None)]


class Wire(BaseModel):
    """A frozen value: camelCase on the wire, snake_case in Python, both accepted on input.

    Unknown keys are ignored, so that a newer writer does not break an older reader. A new field needs a default; the name
    of a removed one is never used again.
    """

    model_config = ConfigDict(frozen=True, alias_generator=to_camel, populate_by_name=True, extra="ignore")


class StrictWire(Wire):
    """A value that people write by hand: a field nobody knows is a mistake, and is named."""

    model_config = ConfigDict(extra="forbid")
