"""What an output has besides words: commands for the user interface, sound, pictures. Names are those of AgentOS."""

from typing import Annotated, Any

from pydantic import Field

from activities.wire import Sparse, Wire


class UICommand(Wire):
    """Something the host's user interface is to do. `command` is its name in the persona's list.

    `command_id` is the id of the call that made it (of several from one tool, with a number behind it), so a command that
    is told twice is known by it.
    """

    command_id: str = Field(default="", max_length=200)
    command: str = Field(min_length=1, max_length=100)
    target_element_id: Sparse[str] = Field(default=None, max_length=500)
    payload: dict[str, Any] = Field(default_factory=dict)
    metadata: Sparse[dict[str, Any]] = None


class AudioOutputConfig(Wire):
    """Sound. `text_to_speak` is what it says; `url` is where it is, `turnhold://media/…` in the worker's database."""

    provider: str
    text_to_speak: str = ""
    voice_id: Sparse[str] = None
    url: Sparse[str] = None
    format: Sparse[str] = None
    language_code: Sparse[str] = None
    custom_params: Sparse[dict[str, Any]] = None


class ImageOutputConfig(Wire):
    """A picture. `base64_data` is set beside `image_url` when the picture is small."""

    provider: Sparse[str] = None
    prompt_used: Sparse[str] = None
    image_url: Sparse[str] = None
    base64_data: Sparse[str] = None
    format: Sparse[str] = None
    metadata: Sparse[dict[str, Any]] = None


class OutputParts(Wire):
    """What one reply of the model, or one result of a tool, adds to the output of its turn."""

    ui_commands: Annotated[tuple[UICommand, ...], Field(exclude_if=lambda commands: not commands)] = ()
    audio_output: Sparse[AudioOutputConfig] = None
    image_output: Sparse[ImageOutputConfig] = None
