"""Values as the JSON text of a column, and back."""

from pydantic import BaseModel, TypeAdapter
from pydantic_core import PydanticSerializationError, to_json

from activities.conversation import Message, ToolCallResult, ToolMessage
from activities.json_values import clean_json

_message: TypeAdapter[Message] = TypeAdapter(Message)


def to_text(value: BaseModel) -> str:
    """The value's wire form. Text from a careless tool or model (half a surrogate pair, bytes) is stored cleaned."""
    try:
        return value.model_dump_json(by_alias=True)
    except PydanticSerializationError:
        return to_json(clean_json(value)).decode()


def to_message(body: str) -> Message:
    """The message of a row."""
    return _message.validate_json(body)


def tool_message(result: ToolCallResult) -> ToolMessage:
    """The message that carries a result."""
    return ToolMessage(result=result)


def same_message(body: str, other: str) -> bool:
    """Whether two bodies say the same, also when one was written before a field with a default was added."""
    return body == other or to_message(body) == to_message(other)
