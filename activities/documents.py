"""Documents of a persona: text, or a file of the worker."""

from collections.abc import Sequence
from datetime import datetime
from hashlib import blake2b
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator

from activities.json_values import clean_text
from activities.sources import Classification, Status
from activities.wire import StrictWire

MAX_DOCUMENTS = 1_000
MAX_DOCUMENT_BYTES = 4_000_000
# Of a persona that is sent as data.
INLINE_CHARS = 8_000
INLINE_ALL_CHARS = 32_000


class DocumentUnreadable(Exception):
    """A document's file cannot be used; the message names both."""


class Document(StrictWire):
    """A document to retrieve from: its `text`, or the `path` of a UTF-8 file on the worker, which is read when it changes.

    Only a document that is active (or says nothing), in force, and of no tenant or the turn's organisation is retrieved;
    with `acl_groups` only for a turn whose `metadata.aclGroups` has one of them.
    """

    id: str = Field(min_length=1, max_length=200)
    title: str | None = Field(default=None, max_length=300)
    text: str | None = Field(default=None, max_length=MAX_DOCUMENT_BYTES)
    path: str | None = Field(default=None, max_length=4_000)
    source: str | None = Field(default=None, max_length=300)
    metadata: dict[str, Any] | None = None
    tenant_id: str | None = Field(default=None, max_length=200)
    acl_groups: tuple[str, ...] | None = Field(default=None, max_length=100)
    classification: Classification | None = None
    status: Status | None = None
    effective_date: datetime | None = None
    expires_at: datetime | None = None

    @model_validator(mode="after")
    def _has_one_origin(self) -> "Document":
        if (self.text is None) == (self.path is None):
            raise ValueError("a document has either text or path")
        return self


def inline_fault(documents: Sequence[Document]) -> str | None:
    """Why documents may not come with a persona that is sent as data; None when they may. They cross histories."""
    for index, document in enumerate(documents):
        if document.path is not None:
            return f"documents[{index}].path: only an app's personas may name files of the worker; send text"
        if len(document.text or "") > INLINE_CHARS:
            return f"documents[{index}].text: is longer than {INLINE_CHARS:,} characters; let the app hold this persona"
    if sum(len(document.text or "") for document in documents) > INLINE_ALL_CHARS:
        return f"documents: have more than {INLINE_ALL_CHARS:,} characters together; let the app hold this persona"
    return None


def read_document(document: Document) -> str:
    """The document's text.

    Raises:
        DocumentUnreadable: there is no such file, or it is larger than `MAX_DOCUMENT_BYTES`.
    """
    if document.path is None:
        return clean_text(document.text or "")
    try:
        with Path(document.path).open("rb") as file:
            raw = file.read(MAX_DOCUMENT_BYTES + 1)
    except (OSError, ValueError) as fault:
        raise DocumentUnreadable(f"document {document.id}: {document.path}: {_reason(fault)}") from None
    if len(raw) > MAX_DOCUMENT_BYTES:
        raise DocumentUnreadable(f"document {document.id}: {document.path} has more than {MAX_DOCUMENT_BYTES:,} bytes")
    return raw.decode("utf-8-sig", "replace")


def fingerprint(document: Document) -> bytes:
    """What changes with the text of the document: a digest, or for a file when it was written and its size.

    Raises:
        DocumentUnreadable.
    """
    if document.path is None:
        return blake2b((document.text or "").encode("utf-8", "surrogatepass"), digest_size=16).digest()
    try:
        found = Path(document.path).stat()
    except (OSError, ValueError) as fault:
        raise DocumentUnreadable(f"document {document.id}: {document.path}: {_reason(fault)}") from None
    return f"{document.path}\0{found.st_mtime_ns}\0{found.st_size}".encode("utf-8", "surrogatepass")


def _reason(fault: Exception) -> str:
    return (getattr(fault, "strerror", None) or type(fault).__name__).lower()
