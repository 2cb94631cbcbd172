"""The payload converter of every client and worker of this project.

Temporal decodes a message before our handlers see it, and a decoding error there loops the workflow task (a start) or loses
the message (a signal). So an argument without a declared type never raises: what is not JSON we accept arrives as an
`Undecodable`, which validators refuse and signals record.
"""

import re
from dataclasses import replace
from typing import Any

from pydantic_core import PydanticSerializationError, from_json, to_json
from temporalio.api.common.v1 import Payload
from temporalio.contrib.pydantic import PydanticJSONPlainPayloadConverter
from temporalio.converter import (
    CompositePayloadConverter,
    DataConverter,
    DefaultPayloadConverter,
    JSONPlainPayloadConverter,
)

from activities.json_values import Undecodable, clean_json

REASON_CHARS = 200
# Python's own limit for reading an integer; pydantic writes longer ones, and then nobody can read the payload.
UNREADABLE_DIGITS = 4_300
_UNREADABLE = re.compile(rb"\d{%d}" % UNREADABLE_DIGITS)


class HostileJSONConverter(PydanticJSONPlainPayloadConverter):
    """Pydantic's JSON, except that untyped input cannot raise."""

    def from_payload(self, payload: Payload, type_hint: type | None = None) -> Any:
        """Decode to `type_hint`, or for an untyped argument to JSON or an `Undecodable`."""
        if type_hint is not None and type_hint is not Any:
            return super().from_payload(payload, type_hint)
        try:
            return from_json(payload.data)
        except (ValueError, RecursionError) as fault:
            return Undecodable(f"not JSON that can be read: {str(fault)[:REASON_CHARS]}")

    def to_payload(self, value: Any) -> Payload | None:
        """Encode; a value that is not JSON is sent as the nearest that is, since an encoding error would loop the task."""
        try:
            data = to_json(value, inf_nan_mode="null")
        except (PydanticSerializationError, ValueError, RecursionError):
            data = to_json(clean_json(value), inf_nan_mode="null")
        if len(data) > UNREADABLE_DIGITS and _UNREADABLE.search(data):
            data = to_json(clean_json(value), inf_nan_mode="null")
        return Payload(metadata={"encoding": self.encoding.encode()}, data=data)


# Made once: the SDK makes a converter for every activation, and each would build its type adapters anew.
_CHAIN = tuple(
    HostileJSONConverter() if isinstance(converter, JSONPlainPayloadConverter) else converter
    for converter in DefaultPayloadConverter.default_encoding_payload_converters
)


class UntypedBytesConverter(CompositePayloadConverter):
    """The standard chain of encodings with our JSON in it, and unknown encodings of untyped input as `Undecodable`."""

    def __init__(self) -> None:
        super().__init__(*_CHAIN)

    def from_payloads(self, payloads: Any, type_hints: list[type] | None = None) -> list[Any]:
        """Decode each payload on its own, so that one strange encoding does not hide the others."""
        hints: list[type | None] = list(type_hints or [])
        hints += [None] * (len(payloads) - len(hints))
        return [self._decode(payload, hint) for payload, hint in zip(payloads, hints, strict=False)]

    def _decode(self, payload: Payload, hint: type | None) -> Any:
        hints = None if hint is None else [hint]
        try:
            return super().from_payloads([payload], hints)[0]
        except Exception as fault:
            if hint is not None and hint is not Any:
                raise
            return Undecodable(f"an encoding nobody here reads: {str(fault)[:REASON_CHARS]}")


data_converter = replace(DataConverter.default, payload_converter_class=UntypedBytesConverter)
