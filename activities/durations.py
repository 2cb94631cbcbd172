"""ISO 8601 durations, as people write them in settings and inputs."""

from datetime import timedelta

from pydantic import TypeAdapter, ValidationError

LONGEST = timedelta(days=3650)
_adapter = TypeAdapter(timedelta)


def parse_duration(text: str) -> timedelta:
    """The length of an ISO 8601 duration such as `PT90S` or `P7D`; a month is 30 days, a year 365.

    Raises:
        ValueError: not such a duration, not positive, or longer than ten years.
    """
    try:
        length = _adapter.validate_python(text if text.upper().startswith("P") else "")
    except ValidationError:
        raise ValueError(f"{text[:40]!r} is not an ISO 8601 duration such as PT90S or P7D") from None
    if not timedelta() < length <= LONGEST:
        raise ValueError(f"{text!r} is not between zero and ten years")
    return length
