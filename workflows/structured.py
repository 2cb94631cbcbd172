"""The answer of a turn that wants one JSON value: when it is asked for again, and what the output says of it. Pure."""

from activities.contracts import ModelReply
from activities.conversation import ErrorDetails
from activities.errors import GMI_STRUCTURED_OUTPUT_INVALID
from activities.structured_contracts import StructuredMeta, StructuredOutput, StructuredReading, StructuredReply

ISSUES_TOLD = 3


def asks_again(wanted: StructuredReply | None, reply: ModelReply) -> bool:
    """Whether an answer did not fit and another try is left."""
    read = reply.structured
    return wanted is not None and read is not None and not read.valid and read.attempt <= wanted.max_retries


def structured_fault(wanted: StructuredReply | None, reply: ModelReply) -> ErrorDetails | None:
    """The error of a turn whose last answer does not fit, unless it is to be given back all the same."""
    read = reply.structured
    if wanted is None or read is None or read.valid or wanted.on_exhausted == "return_invalid":
        return None
    tries = "1 attempt" if read.attempt == 1 else f"{read.attempt} attempts"
    told = "; ".join(read.issues[:ISSUES_TOLD])
    return ErrorDetails(
        code=GMI_STRUCTURED_OUTPUT_INVALID,
        message=f"the answer did not fit the schema {wanted.name!r} in {tries}: {told}",
        details={"attempts": read.attempt, "issues": list(read.issues)},
    )


def structured_output(wanted: StructuredReply, read: StructuredReading, ref: str) -> StructuredOutput:
    """What the output says of the last answer, which is the text of the stored row `ref`."""
    meta = StructuredMeta(
        schema_name=wanted.name,
        valid=read.valid,
        attempts=read.attempt,
        enforcement=read.enforcement,
        stage=read.stage,
        issues=read.issues or None,
    )
    return StructuredOutput(value=read.value, value_ref=ref if read.cut else None, meta=meta)
