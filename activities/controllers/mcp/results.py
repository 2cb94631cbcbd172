"""The result of an MCP tool: plain JSON for the model, and for the user the sound and the picture that came with it."""

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from mcp.types import (
    AudioContent,
    BlobResourceContents,
    CallToolResult,
    ContentBlock,
    EmbeddedResource,
    ImageContent,
    ResourceLink,
    TextContent,
    TextResourceContents,
)

from activities.credentials import redacted
from activities.media import FORMATS, MediaInvalidError, MediaItem, MediaKind, media_item
from activities.tool_replies import AudioOutput, ImageOutput, Reply


class McpToolFailed(Exception):
    """The tool says that it failed; the message is what it says."""


def value_of(result: CallToolResult, secrets: Iterable[str] = ()) -> Any:
    """What the tool gave back: its structured content, a single text as text, anything else as a list; a `Reply` where there is
    sound or a picture that the user can get. Of several the last one counts, as in a turn. No secret is told.

    Raises:
        McpToolFailed: the result says that it is an error.
    """
    secrets = tuple(secrets)
    if result.is_error:
        raise McpToolFailed(_error_text(result))
    told = result.structured_content
    plain = redacted(_joined([_plain(block) for block in result.content]) if told is None else told, secrets)
    media = _Media(result.content)
    if not media.shown:
        return plain
    reply = Reply(otherwise=plain, audio=media.audio, image=media.image)
    if told is not None:
        return replace(reply, output=plain)
    if len(result.content) == 1:
        # What the model reads of it is written where the bytes are kept.
        return reply
    return replace(reply, output=redacted([media.told(block) for block in result.content], secrets))


class _Media:
    """The last sound and the last picture of a result that can be kept, and the blocks which they stand in."""

    def __init__(self, blocks: Iterable[ContentBlock]) -> None:
        found: dict[MediaKind, tuple[ContentBlock, MediaItem]] = {}
        for block in blocks:
            if item := _item(block):
                found[item.kind] = block, item
        self.shown = tuple(block for block, _ in found.values())
        items = {kind: item for kind, (_, item) in found.items()}
        sound, picture = items.get("audio"), items.get("image")
        self.audio = AudioOutput(data=sound.data, format=sound.format) if sound else None
        self.image = ImageOutput(data=picture.data, format=picture.format) if picture else None

    def told(self, block: ContentBlock) -> Any:
        """What the model reads of a block."""
        plain = _plain(block)
        return {**plain, "note": "the user gets it"} if any(each is block for each in self.shown) else plain


def _item(block: ContentBlock) -> MediaItem | None:
    """What a block has for the user; None where there is nothing, or nothing that can be kept."""
    match block:
        case ImageContent() | AudioContent():
            data, mime = block.data, block.mime_type
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            data, mime = resource.blob, resource.mime_type or ""
        case _:
            return None
    kind = next((each for each in FORMATS if mime.lower().startswith(f"{each}/")), None)
    try:
        return media_item(kind, data, mime) if kind is not None else None
    except MediaInvalidError:
        return None


def _error_text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return "\n".join(texts) or "the tool failed without saying why"


def _joined(blocks: list[Any]) -> Any:
    return blocks[0] if len(blocks) == 1 else blocks or None


def _plain(block: ContentBlock) -> Any:
    match block:
        case TextContent():
            return block.text
        case ImageContent() | AudioContent():
            # The model reads text: a picture in base64 would only fill its context.
            return {"type": block.type, "mimeType": block.mime_type, "base64Length": len(block.data)}
        case ResourceLink():
            return {"type": block.type, "uri": str(block.uri), "name": block.name, "description": block.description}
        case EmbeddedResource(resource=TextResourceContents() as resource):
            return {"type": block.type, "uri": str(resource.uri), "text": resource.text}
        case EmbeddedResource(resource=BlobResourceContents() as resource):
            return {"type": block.type, "uri": str(resource.uri), "base64Length": len(resource.blob)}
    return {"type": getattr(block, "type", "unknown")}
