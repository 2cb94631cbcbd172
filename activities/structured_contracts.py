"""An answer as one JSON value: what a turn may ask for, what a reply came to, and what the output says of it."""

from typing import Any, Literal

from pydantic import Field

from activities.wire import Sparse, StrictWire, Wire

MAX_SCHEMA_BYTES = 64_000

Enforcement = Literal["provider_schema", "forced_tool", "prompt_only"]
JudgedAt = Literal["model", "post_guardrail"]


class StructuredReply(StrictWire):
    """The turn's answer is one JSON value that fits `schema`. Source: StructuredReplySpec of AgentOS.

    An answer that does not fit is asked for again, `max_retries` times at most; then the turn ends with an error, or gives back
    what there is. `enforcement` is how the model is held to the schema; by default the best way its server takes. `name` is
    what the model knows the answer by.
    """

    json_schema: dict[str, Any] = Field(alias="schema")
    name: str = Field(default="reply", pattern=r"^[A-Za-z_][A-Za-z0-9_-]{0,63}$")
    description: str = Field(default="", max_length=2_000)
    max_retries: int = Field(default=2, ge=0, le=5)
    on_exhausted: Literal["error", "return_invalid"] = "error"
    enforcement: Enforcement | None = None


class StructuredReading(Wire):
    """What one reply without calls came to. `value` is left out when it is long: it stands in the reply's row.

    `discarded` says that nothing but the next attempt reads this reply. `stage` says whether a guardrail had changed it.
    """

    valid: bool
    value: Any = None
    cut: bool = False
    issues: tuple[str, ...] = ()
    enforcement: Enforcement
    stage: JudgedAt = "model"
    attempt: int = 1
    discarded: bool = False


class StructuredMeta(Wire):
    """How the value came about. Source: StructuredReplyOutput.meta of AgentOS."""

    schema_name: str
    valid: bool
    attempts: int
    enforcement: Enforcement
    stage: JudgedAt = "model"
    issues: Sparse[tuple[str, ...]] = None


class StructuredOutput(Wire):
    """The answer of a turn that asked for one. Source: StructuredReplyOutput of AgentOS.

    A `value` of more than 8,000 bytes is null, and `value_ref` names the stored reply whose text has it.
    """

    value: Any = None
    value_ref: Sparse[str] = None
    meta: StructuredMeta
