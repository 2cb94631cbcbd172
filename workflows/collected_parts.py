"""What a turn's output has besides words, collected while the turn runs. Pure and bounded."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from activities.json_values import encoded_size
from activities.output_parts import AudioOutputConfig, ImageOutputConfig, OutputParts, UICommand

COMMAND_BYTES = 64_000


@dataclass(slots=True)
class CollectedParts:
    """The parts so far. Of several sounds or pictures the last one counts."""

    commands: list[UICommand] = field(default_factory=list)
    audio: AudioOutputConfig | None = None
    image: ImageOutputConfig | None = None
    _bytes: int = 0

    def take(self, parts: OutputParts) -> None:
        """Take the sound and the picture of a result or a reply."""
        self.audio = parts.audio_output or self.audio
        self.image = parts.image_output or self.image

    def show(self, commands: Iterable[UICommand]) -> int:
        """Add commands, in order; how many of them found no room."""
        left_out = 0
        for command in commands:
            size = encoded_size(command)
            if self._bytes + size > COMMAND_BYTES:
                left_out += 1
                continue
            self.commands.append(command)
            self._bytes += size
        return left_out

    def fields(self) -> dict[str, Any]:
        """The fields of the output that these parts fill."""
        return {
            "ui_commands": tuple(self.commands) or None,
            "audio_output": self.audio,
            "image_output": self.image,
        }
