"""The sound and the picture of a model's reply: checked, stored, and named by their addresses.

They are stored before the reply is. Their keys are made of their bytes, so that an attempt that dies in between and one that
is repeated leave one copy. What cannot be used is left out of the reply, and a note says why: words count without it.
"""

import asyncio
from dataclasses import dataclass, replace
from typing import Protocol

from activities.completion_media import RawMedia
from activities.completions import Completion
from activities.media import ADDRESS, MediaInvalidError, MediaItem, known_format, media_item
from activities.output_parts import AudioOutputConfig, ImageOutputConfig, OutputParts
from activities.personas import Persona
from activities.presenting import TEXT_CHARS, URL_CHARS, image_config
from activities.store.errors import MediaFull
from activities.turn_input import TurnOptions


class MediaKeeper(Protocol):
    """The store's side, blocking: see `activities.store.media.MediaStore`."""

    def put(self, turn_id: str, items: tuple[MediaItem, ...]) -> None: ...


@dataclass(frozen=True, slots=True)
class ReplyMedia:
    """Keeps what replies have besides words. Without a store it keeps nothing."""

    store: MediaKeeper | None
    provider: str

    async def keep(
        self, turn_id: str, persona: Persona, options: TurnOptions, completion: Completion
    ) -> tuple[Completion, OutputParts | None]:
        """The completion without its media, and what they add to the output.

        Raises:
            StoreUnavailable, TurnClosed, TurnNotFound.
        """
        if not completion.media:
            return completion, None
        parts, problems = OutputParts(), list[str]()
        for raw in completion.media if completion.error is None else ():
            try:
                parts = parts.model_copy(update=await self._part(turn_id, persona, options, completion, raw))
            except (MediaInvalidError, MediaFull) as fault:
                problems.append(f"the model's {raw.kind} was left out: {fault}")
        hint = "; ".join(filter(None, (completion.hint, *problems))) or None
        return replace(completion, media=(), hint=hint), parts if parts.model_fields_set else None

    async def _part(
        self, turn_id: str, persona: Persona, options: TurnOptions, completion: Completion, raw: RawMedia
    ) -> dict[str, AudioOutputConfig | ImageOutputConfig]:
        if not persona.may_answer_with(raw.kind):
            raise MediaInvalidError(f"this persona may not answer with {raw.kind}")
        if any(note.stage == "output" for note in completion.guardrails):
            raise MediaInvalidError("a guardrail changed what was said")
        if raw.source.startswith(("https://", "http://", ADDRESS)):
            if len(raw.source) > URL_CHARS:
                raise MediaInvalidError(f"its address has more than {URL_CHARS:,} characters")
            format_ = known_format(raw.kind, raw.format) if raw.format else None
            return _named(raw, raw.source, format_, self.provider, completion, options)
        if self.store is None:
            raise MediaInvalidError("there is no store for it")
        # Decoding megabytes would hold up heartbeats.
        told = raw.format or (options.audio.format if raw.kind == "audio" and options.audio is not None else None)
        item = await asyncio.to_thread(media_item, raw.kind, raw.source, told)
        await asyncio.to_thread(self.store.put, turn_id, (item,))
        if item.kind == "image":
            return {"image_output": image_config(item, item.url(turn_id), provider=self.provider)}
        return _named(raw, item.url(turn_id), item.format, self.provider, completion, options)


def _named(
    raw: RawMedia, url: str, format_: str | None, provider: str, completion: Completion, options: TurnOptions
) -> dict[str, AudioOutputConfig | ImageOutputConfig]:
    if raw.kind == "image":
        return {"image_output": ImageOutputConfig(provider=provider, image_url=url, format=format_)}
    audio = AudioOutputConfig(
        provider=provider,
        text_to_speak=(completion.text or "")[:TEXT_CHARS],
        voice_id=options.audio.voice if options.audio is not None else None,
        url=url,
        format=format_,
    )
    return {"audio_output": audio}
