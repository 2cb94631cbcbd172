"""What of the result of an MCP tool is for the model, and what for the user."""

import base64
from typing import Any

import pytest
from mcp import types

from activities.controllers.mcp.results import McpToolFailed, value_of
from activities.tool_replies import AudioOutput, ImageOutput, Reply
from tests.activities.test_media import PNG, WAV

SECRET = "sk-very-secret"


def encoded(data: bytes) -> str:
    return base64.b64encode(data).decode()


def picture(data: bytes = PNG, mime: str = "image/png") -> types.ImageContent:
    return types.ImageContent(data=encoded(data), mime_type=mime)


def result(*content: types.ContentBlock, **fields: Any) -> types.CallToolResult:
    return types.CallToolResult(content=list(content), **fields)


def words(block: types.ImageContent | types.AudioContent) -> dict[str, Any]:
    return {"type": block.type, "mimeType": block.mime_type, "base64Length": len(block.data)}


SOUND = types.AudioContent(data=encoded(WAV), mime_type="audio/x-wav")
WAVE, DRAWN = AudioOutput(data=WAV, format="wav"), ImageOutput(data=PNG, format="png")
OTHER = picture(PNG + b"1")
FILE = types.EmbeddedResource(
    resource=types.BlobResourceContents(uri="file:///a.png", blob=encoded(PNG), mime_type="image/png")
)
GOT = {"note": "the user gets it"}


@pytest.mark.parametrize(
    ("given", "value"),
    [
        (result(picture()), Reply(otherwise=words(picture()), image=DRAWN)),
        (result(SOUND), Reply(otherwise=words(SOUND), audio=WAVE)),
        (
            result(types.TextContent(text="hi"), SOUND, OTHER, picture()),
            Reply(
                output=["hi", {**words(SOUND), **GOT}, words(OTHER), {**words(picture()), **GOT}],
                otherwise=["hi", words(SOUND), words(OTHER), words(picture())],
                audio=WAVE,
                image=DRAWN,
            ),
        ),
        (
            result(picture(), structured_content={"page": 1}),
            Reply(output={"page": 1}, otherwise={"page": 1}, image=DRAWN),
        ),
        (
            result(FILE),
            Reply(
                otherwise={"type": "resource", "uri": "file:///a.png", "base64Length": len(encoded(PNG))}, image=DRAWN
            ),
        ),
    ],
)
def test_sound_and_pictures_are_for_the_user_and_the_last_of_each_counts(given: Any, value: Reply) -> None:
    assert value_of(given) == value


@pytest.mark.parametrize(
    "block",
    [
        picture(mime="image/heic"),
        picture(b""),
        picture(mime="application/pdf"),
        types.ImageContent(data="%%%", mime_type="image/png"),
        types.AudioContent(data=encoded(PNG), mime_type="audio/midi"),
    ],
)
def test_what_cannot_be_kept_is_told_in_words_and_costs_nothing_else(block: Any) -> None:
    assert value_of(result(block)) == words(block)
    assert value_of(result(types.TextContent(text="hi"), block)) == ["hi", words(block)]


def test_no_secret_is_told_beside_a_picture() -> None:
    told = value_of(result(types.TextContent(text=f"key {SECRET}"), picture()), [SECRET])
    assert (told.output[0], told.otherwise[0]) == ("key [secret]", "key [secret]")
    assert SECRET not in str(value_of(result(structured_content={SECRET: SECRET}), [SECRET]))


def test_an_error_is_one_whatever_came_with_it() -> None:
    with pytest.raises(McpToolFailed, match="no such page"):
        value_of(result(types.TextContent(text="no such page"), picture(), is_error=True))
