"""Which kinds of parts a persona and a model take, and what stands where a model cannot see or hear one. Pure."""

from collections.abc import Collection, Iterable
from typing import Literal

from activities.conversation import AudioPart, Content, ContentPart, ImagePart, Message, TextPart, UserMessage
from activities.personas import Persona

Kind = Literal["text", "image", "audio"]
KINDS: tuple[Kind, ...] = ("text", "image", "audio")
_NOUNS = {"text": "text", "image": "images", "audio": "audio"}
NOTES = {
    "image": "[An image was here. This model does not see it.]",
    "audio": "[A recording was here. This model does not hear it.]",
}


def kind_of(part: ContentPart) -> Kind:
    """The kind of a part."""
    return "image" if isinstance(part, ImagePart) else "audio" if isinstance(part, AudioPart) else "text"


def kinds_of(content: Content) -> list[Kind]:
    """The kind of each part; a text is one."""
    return ["text"] if isinstance(content, str) else [kind_of(part) for part in content]


def persona_fault(content: Content, persona: Persona) -> str | None:
    """Which part the persona takes not, and what it takes; None when it takes all."""
    allowed = persona.allowed_input_modalities
    if allowed is None:
        return None
    parts: tuple[ContentPart, ...] = (TextPart(text=content),) if isinstance(content, str) else content
    for index, part in enumerate(parts):
        if not _names(part) & set(allowed):
            taken = ", ".join(allowed) or "nothing"
            return f"content[{index}]: persona {persona.id} takes no {_NOUNS[kind_of(part)]}; it takes {taken}"
    return None


def model_fault(content: Content, model: str, takes: Collection[Kind] | None) -> str | None:
    """Which part the model takes not, as far as the worker knows: with `takes` None it is tried."""
    if takes is None:
        return None
    for index, kind in enumerate(kinds_of(content)):
        if kind not in takes:
            return f"content[{index}]: the model {model} takes no {_NOUNS[kind]}; ask another one by options.model"
    return None


def without(messages: Iterable[Message], kinds: Collection[Kind]) -> list[Message]:
    """The messages with a note in place of each part of these kinds."""
    return [_noted(message, kinds) if kinds and isinstance(message, UserMessage) else message for message in messages]


def _noted(message: UserMessage, kinds: Collection[Kind]) -> UserMessage:
    if isinstance(message.content, str) or not any(kind_of(part) in kinds for part in message.content):
        return message
    parts = tuple(
        TextPart(text=NOTES[kind_of(part)]) if kind_of(part) in kinds and not isinstance(part, TextPart) else part
        for part in message.content
    )
    return message.model_copy(update={"content": parts})


def _names(part: ContentPart) -> set[str]:
    """The names a persona may give the kind of a part."""
    if isinstance(part, ImagePart):
        return {"image", "vision_image_base64" if part.is_inline else "vision_image_url"}
    return {"audio"} if isinstance(part, AudioPart) else {"text", "audio_transcription"}
