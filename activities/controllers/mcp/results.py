"""The result of an MCP tool as plain JSON for the model: structured content where there is any, else texts and notes."""

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


class McpToolFailed(Exception):
    """The tool says that it failed; the message is what it says."""


def value_of(result: CallToolResult) -> Any:
    """What the tool gave back: its structured content, a single text as text, anything else as a list.

    Raises:
        McpToolFailed: the result says that it is an error.
    """
    if result.is_error:
        raise McpToolFailed(_error_text(result))
    if result.structured_content is not None:
        return result.structured_content
    blocks = [_plain(block) for block in result.content]
    if len(blocks) == 1:
        return blocks[0]
    return blocks or None


def _error_text(result: CallToolResult) -> str:
    texts = [block.text for block in result.content if isinstance(block, TextContent)]
    return "\n".join(texts) or "the tool failed without saying why"


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
