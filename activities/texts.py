"""The words of a message."""

from activities.conversation import Content, TextPart


def text_of(content: Content) -> str:
    """A message's text; of a multimodal one its text parts, a line each."""
    if isinstance(content, str):
        return content
    return "\n".join(part.text for part in content if isinstance(part, TextPart))
