"""Files arrive as they were given, and their names and types can do nothing else."""

import base64
from typing import Any

import pytest

from activities.openapi.faults import Unwritable
from activities.openapi.files import File, read_file

BYTES = b"\x89PNG\x00"
BASE64 = base64.b64encode(BYTES).decode()


def test_object_gives_name_type_and_bytes() -> None:
    given = {"filename": "a.png", "mediaType": "image/png", "base64": f"{BASE64[:4]}\n{BASE64[4:]}"}
    assert read_file(given) == File("a.png", BYTES, "image/png")


@pytest.mark.parametrize("value", ["grüße", {"text": "grüße"}])
def test_text_is_a_file_too(value: Any) -> None:
    assert read_file(value) == File("file", "grüße".encode(), None)


@pytest.mark.parametrize(
    ("name", "base_name"),
    [
        ("../../etc/passwd", "passwd"),
        ("C:\\a\\b.txt", "b.txt"),
        ("..", "file"),
        ("", "file"),
        ("a\r\nb", "ab"),
        (3, "file"),
    ],
)
def test_name_has_no_folder_and_no_line(name: Any, base_name: str) -> None:
    assert read_file({"text": "", "filename": name}).name == base_name


@pytest.mark.parametrize(
    "value",
    [
        None,
        7,
        {},
        {"filename": "a"},
        {"base64": "not base64!"},
        {"base64": 3},
        {"base64": "abc"},
        {"text": "", "mediaType": "image/png\r\nX-Evil: 1"},
        {"text": "", "mediaType": "png"},
    ],
)
def test_what_is_no_file_is_refused(value: Any) -> None:
    with pytest.raises(Unwritable):
        read_file(value)
