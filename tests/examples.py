"""One example of every type on the wire, with a value in every field."""

from datetime import UTC, datetime

from activities import (
    contracts,
    conversation,
    guard_contracts,
    output_parts,
    selection,
    sources,
    streaming_chunks,
    structured_contracts,
    turn_input,
)
from activities.wire import Wire
from tests.instance_examples import INSTANCE_EXAMPLES
from tests.instance_examples import instance as instance_turn
from workflows import contracts as shown
from workflows import transcript

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
LATER = datetime(2026, 1, 9, 3, 4, 5, tzinfo=UTC)

error = conversation.ErrorDetails(code="E_FULL", message="sold out", details={"left": 0})
call = conversation.ToolCall(id="t1jn1zawl", name="book", arguments={"room": 7}, provider_id="call_1")
ui_command = output_parts.UICommand(
    command_id="t1jn1zawl",
    command="open_panel",
    target_element_id="#orders",
    payload={"order": 7},
    metadata={"source": "tool"},
)
sound = output_parts.AudioOutputConfig(
    provider="openai",
    text_to_speak="Booked.",
    voice_id="alloy",
    url="turnhold://media/0a1b",
    format="wav",
    language_code="cs-CZ",
    custom_params={"rate": 1},
)
picture = output_parts.ImageOutputConfig(
    provider="openai",
    prompt_used="A room.",
    image_url="turnhold://media/2c3d",
    base64_data="iVBORw0K",
    format="png",
    metadata={"width": 16},
)
source = sources.RagRetrievedChunk(
    id="rooms#0",
    content="Room 7 has a view.",
    original_document_id="rooms",
    data_source_id="documents",
    source="Rooms",
    metadata={"title": "Rooms"},
    relevance_score=0.5,
    embedding=(0.1, 0.2),
    tenant_id="o1",
    acl_groups=("staff",),
    classification="internal",
    status="active",
    effective_date=NOW,
    expires_at=LATER,
)
kept_sources = sources.Sources(sources=(source,))
parts = output_parts.OutputParts(ui_commands=(ui_command,), audio_output=sound, image_output=picture)
result = conversation.ToolCallResult(
    tool_call_id="t1jn1zawl",
    tool_name="book",
    output={"ref": None},
    is_error=True,
    error_details={"code": "E_FULL", "message": "sold out", "details": None},
    parts=parts,
)
text = conversation.TextPart(text="Žofie 日本 \U0001f600")
url = conversation.ImageUrl(url="https://example.org/a.png", detail="low")
image = conversation.ImagePart(image_url=url)
audio_data = conversation.AudioData(data="UklGRg==", format="wav")
audio = conversation.AudioPart(input_audio=audio_data)
user = conversation.UserMessage(content=(text, image, audio), meta={"guardrails": []})
assistant = conversation.AssistantMessage(content="Booking.", tool_calls=(call,), meta={"finishReason": "tool_calls"})
tool_message = conversation.ToolMessage(result=result)
used = conversation.ModelUsage(prompt_tokens=10, completion_tokens=2, total_tokens=12, cost_usd=0.0015)
entry = conversation.CostEntry(
    provider_id="openai", model_id="m-1", tokens=12, prompt_tokens=10, completion_tokens=2, cost_usd=0.0015
)
costs = conversation.CostAggregator(
    total_tokens=12,
    prompt_tokens=10,
    completion_tokens=2,
    total_cost_usd=0.0015,
    breakdown=(entry,),
    calls_without_usage=1,
)
structured_meta = structured_contracts.StructuredMeta(
    schema_name="reply",
    valid=False,
    attempts=3,
    enforcement="forced_tool",
    stage="post_guardrail",
    issues=("reply: no",),
)
structured_output = structured_contracts.StructuredOutput(value={"a": 1}, value_ref="t1/3", meta=structured_meta)
structured_reading = structured_contracts.StructuredReading(
    valid=False,
    value={"a": 1},
    cut=True,
    issues=("reply: no",),
    enforcement="prompt_only",
    stage="post_guardrail",
    attempt=2,
    discarded=True,
)
structured_reply = structured_contracts.StructuredReply(
    json_schema={"type": "object"},
    name="order",
    description="The order.",
    max_retries=1,
    on_exhausted="return_invalid",
    enforcement="provider_schema",
)
output = conversation.GMIOutput(
    is_final=False,
    response_text="Booking.",
    text_ref="t1/1",
    tool_calls=(call,),
    ui_commands=(ui_command,),
    audio_output=sound,
    image_output=picture,
    usage=costs,
    reasoning_trace=({"type": "WARNING"},),
    error=error,
    rag_sources=(source,),
    structured_output=structured_output,
    conversation_id="c1",
    turn_id="t1",
    memory={"planned": {"entries": 2}},
    model_calls=3,
)

host_tool = turn_input.ExternalTool(
    name="book",
    description="Books a room.",
    input_schema={"type": "object", "properties": {"room": {"type": "integer"}}},
    output_schema={"type": "object"},
    timeout="PT5M",
)
prompts = turn_input.SystemPrompts(
    common="Answer in ${locale}.",
    initialize="Talk.",
    select="Choose.",
    cancel="Drop.",
    execute="Call.",
    describe="Tell.",
)
choosing = turn_input.SelectionOptions(
    threshold=4,
    candidates=40,
    capacity=20,
    eliticism=False,
    retry=1,
    initialize=True,
    describe="end",
    locale="cs-CZ",
    timezone="Europe/Prague",
    system_prompt=prompts,
)
spoken = turn_input.AudioOptions(voice="alloy", format="wav")
options = turn_input.TurnOptions(
    model="m-1",
    temperature=0.5,
    max_tokens=100,
    tool_choice="required",
    response_format={"type": "json_object"},
    structured_reply=structured_reply,
    stream=True,
    tool_selection="select",
    selection=choosing,
    user_api_keys=("OPENAI_TEAM_B",),
    modalities=("text", "audio"),
    audio=spoken,
    reasoning_trace=True,
)
pause_options = turn_input.PauseOptions(timeout="PT1H", on_timeout="fail")
delegation = turn_input.Delegation(depth=2)
limits = turn_input.TurnLimits(
    max_tool_rounds=3, max_model_calls=4, max_tokens=5, max_cost_usd=0.5, deadline=LATER, on_limit="ask"
)
given = turn_input.TurnInput(
    content="Book it",
    conversation_id="c1",
    user_id="ada",
    session_id="s1",
    organization_id="o1",
    interaction_id="t1",
    persona_id="p1",
    type="system_message",
    metadata={"source": "web"},
    timestamp=NOW,
    user_context_override={"language": "cs"},
    task_context_override={"domain": "travel"},
    external_tools=(host_tool,),
    options=options,
    pause=pause_options,
    on_busy="supersede",
    limits=limits,
    histories=({"type": "userMessage", "text": "hi"},),
    history_ref="h1",
    instance=instance_turn.model_copy(update={"persona": None}),
    delegation=delegation,
    required_guardrails=("no_cards",),
)
guard_note = guard_contracts.GuardNote(
    guardrail="no_cards", stage="output", verdict="sanitised", reason="a card number", tool="book"
)
judge_input = guard_contracts.JudgeInput(turn_id="t1")
input_judged = guard_contracts.InputJudged(notes=(guard_note,), text="Book for [card].", error=error)

excerpt = contracts.Excerpt(text="Book", length=9_000, cut=True)
begin = contracts.BeginTurn(
    turn_id="t1",
    workflow_id="turn-c1-t1",
    run_id="r2",
    first_run_id="r1",
    conversation_id="c1",
    input=given,
    now_ms=1_767_323_045_678,
)
plan = contracts.MemoryPlan(entries=2, tokens=90, truncated=True, caution=True, degraded="the store is away")
patience = contracts.Patience(model_timeout=20.0, model_attempts=3)
begun = contracts.TurnBegun(
    conversation_id="c1",
    persona_id="p1",
    model="m-1",
    rows=1,
    position=4,
    memory=plan,
    search_attributes=("TurnState",),
    patience=patience,
    took_over="t0",
    memory_model=True,
    functions=30,
    selection={"ready": True},
    retrieves=True,
    remembers=False,
    input_guard_seconds=20.0,
)
retrieve = contracts.RetrieveSources(turn_id="t1", now_ms=1_767_323_045_678)
retrieved = contracts.SourcesRetrieved(sources=(source,), failures=("the documents failed (OSError)",))
placed = contracts.PlacedResult(row=3, result=result)
save = contracts.SaveResults(turn_id="t1", results=(placed,))
saved = contracts.ResultsSaved(rows=4)
tell = contracts.TellPause(turn_id="t1", pause_id="t1/budget-1", calls=(call,))
told = contracts.PauseTold(streams=True)
ask = contracts.ModelRequest(
    turn_id="t1",
    conversation_id="c1",
    round=1,
    rows=4,
    results=(placed,),
    options=options,
    tools_allowed=False,
    functions=("book",),
    phase="describe",
    now_ms=1_767_323_045_678,
)
facts = contracts.ToolFacts(
    kind="worker",
    needs_approval=True,
    repeatable=True,
    timeout=30.0,
    retries=2,
    input_schema={"type": "object"},
    external=True,
    human_schema={"type": "object"},
    controller="shop",
    function="book",
    protocol="class",
    correctable=False,
    corrections=3,
)
requested = contracts.RequestedCall(
    id="t1jn1zawl",
    name="book",
    arguments={"preview": "{"},
    arguments_cut=True,
    provider_id="call_1",
    problem=error,
    tool=facts,
)
reply = contracts.ModelReply(
    row=1,
    stored=False,
    text=excerpt,
    calls=(requested,),
    finish_reason="tool_calls",
    model="m-1",
    provider="openai",
    usage=used,
    error=error,
    hint="the reply was cut",
    parts=parts,
    guardrails=(guard_note,),
    structured=structured_reading,
)
run = contracts.ToolRun(
    turn_id="t1",
    conversation_id="c1",
    call_id="t1jn1zawl",
    name="book",
    row=2,
    call_row=1,
    arguments={"room": 7},
    human={"pin": "0000"},
)
ran = contracts.ToolRan(row=2, result=result, cut=True, correctable=True)
commit = contracts.CommitTurn(
    turn_id="t1",
    conversation_id="c1",
    rows=4,
    results=(placed,),
    state="superseded",
    output=output,
    usage=costs,
    now_ms=1_767_323_045_678,
    selection={"ready": True},
)
committed = contracts.TurnCommitted(position=4, rows=4)
answers = {"extract": {"result": {"memories": [{"content": "Likes tea.", "domains": []}]}, "problems": []}}
ask_memory = contracts.MemoryAsk(turn_id="t1", now_ms=1_767_323_045_678, answers=answers)
answered = contracts.MemoryAnswered(
    answers=answers, next_stage="reconcile", asked=True, usage=used, model="m-2", provider="openai"
)
learn = contracts.PostTurn(turn_id="t1", now_ms=1_767_323_045_678, answers=answers)
learned = contracts.PostTurnReport(
    stored=1, merged=2, rejected=3, promoted=4, version=5, skipped="no model", problems=("a clash",), usage=costs
)

origin = {"controller": "shop", "function": "book", "protocol": "class"}
chosen = selection.ChosenFunction(name="book", reason="A room is wanted.", **origin)
waiting = selection.StackEntry(id="t1kn2zbwm", **chosen.model_dump())
kept = selection.Selection(ready=True, stack=(waiting,), usage={"select": costs})
choose = selection.ChoiceRequest(
    turn_id="t1",
    conversation_id="c1",
    phase="select",
    call=1,
    rows=2,
    row=3,
    stack=(waiting,),
    among=("book", "cancel"),
    group=1,
    groups=2,
    options=options,
    now_ms=1_767_323_045_678,
)
choice = selection.ChoiceReply(
    row=3,
    wanted=True,
    chosen=(chosen,),
    faults=("There is no function 'bok'. Did you mean book?",),
    text=excerpt,
    finish_reason="tool_calls",
    model="m-1",
    provider="openai",
    usage=used,
    error=error,
    hint="the reply was cut",
    guardrails=(guard_note,),
)
choice_kept = selection.ChoiceFacts(
    phase="select",
    call_id="t1jn1zawl",
    wanted=True,
    arguments={"functions": [{"reason": "A room is wanted.", "name": "book"}]},
    chosen=(chosen,),
    faults=("There is no function 'bok'. Did you mean book?",),
    group=1,
    groups=2,
)

pending = shown.PendingCall(
    id="t1jn1zawl",
    name="book",
    arguments={"room": 7},
    kind="approval",
    input_schema={"type": "object"},
    output_schema={"type": "object"},
    state="answered",
    deadline=LATER,
    arguments_cut=True,
    arguments_ref="c1/t1/3",
    persona_id="researcher",
)
request = shown.PendingRequest(
    pause_id="t1/0",
    tool_calls=(pending,),
    rationale="I need a room.",
    requested_at=NOW,
    deadline=LATER,
    conversation_id="c1",
    user_id="ada",
    persona_id="p1",
    session_id="s1",
    stream_id="turn-c1-t1",
)
reason = shown.ItemReason(tool_call_id="t1jn1zawl", reason="stands twice in this answer")
ack = shown.AnswerAck(
    accepted=("t1jn1zawl",), repeated=("a",), filled=("b",), kept_for_later=("c",), waiting_for=("d",)
)
rejected = shown.RejectedAnswer(at=NOW, channel="signal", reasons=(reason,))
agent = shown.AgentStatus(
    call_id="t1jn1zawl",
    persona_id="researcher",
    workflow_id="turn-c1-t1.t1jn1zawl",
    waiting_for=("t1jn1zawl.a1b2c3d4e",),
)
status = shown.TurnStatus(
    turn_id="t1",
    conversation_id="c1",
    persona_id="p1",
    user_id="ada",
    phase="waiting",
    state="awaiting_tool_result",
    round=1,
    model_calls=1,
    waiting_for=("t1jn1zawl",),
    error=error,
    memory={"entries": 2},
    rejected_answers=1,
    limits=limits,
    agents=(agent,),
)
chunk = transcript.Chunk(
    sequence=3,
    type="tool_result",
    content={"ok": True},
    interaction_id="t1",
    timestamp=NOW,
    is_final=True,
    metadata={"byHost": True},
)
page = transcript.Page(entries=({"role": "user", "content": "hi"},), total=9, cursor=8)
chunk_body = streaming_chunks.ChunkBody(
    content="Book", finish_reason="stop", usage=used, error_details=error, metadata={"row": 1}
)
output_chunk = streaming_chunks.GMIOutputChunk(
    sequence=3,
    type="step_finished",
    chunk_id="gmi-chunk-1",
    interaction_id="t1",
    timestamp=NOW,
    is_final=True,
    **dict(chunk_body),
)

EXAMPLES: tuple[Wire, ...] = (
    *(value for name, value in dict(globals()).items() if isinstance(value, Wire) and name != "instance_turn"),
    *INSTANCE_EXAMPLES,
)
