"""One example of every type that an agent instance sends or keeps, with a value in every field."""

from datetime import UTC, datetime

from activities import (
    contracts,
    conversation,
    documents,
    history_messages,
    instance_contracts,
    persona_character,
    persona_memory,
    persona_prompt,
    personas,
    sentiment,
    sources,
    turn_input,
)
from activities.wire import Wire
from workflows import contracts as shown
from workflows import gmi_contracts, gmi_lifecycle

NOW = datetime(2026, 1, 2, 3, 4, 5, 678000, tzinfo=UTC)
LATER = datetime(2026, 1, 9, 3, 4, 5, tzinfo=UTC)
NOW_MS = 1_767_323_045_678

_options = turn_input.TurnOptions(model="m-1")
_pause = turn_input.PauseOptions(timeout="PT1H")
_limits = turn_input.TurnLimits(max_tool_rounds=3)
_tool = turn_input.ExternalTool(name="book")
_patience = contracts.Patience(model_timeout=20.0, model_attempts=3)
_error = conversation.ErrorDetails(code="E_FULL", message="sold out", details={"left": 0})
_used = conversation.ModelUsage(prompt_tokens=10, completion_tokens=2, total_tokens=12, cost_usd=0.0015)
_costs = conversation.CostAggregator(total_tokens=12, prompt_tokens=10, completion_tokens=2, total_cost_usd=0.0015)
_output = conversation.GMIOutput(is_final=True, response_text="Booked.")
_request = shown.PendingRequest(
    pause_id="t1/0",
    tool_calls=(),
    requested_at=NOW,
    deadline=LATER,
    conversation_id="c1",
    user_id="ada",
    persona_id="p1",
    stream_id="turn-c1-t1",
)

moods = persona_character.MoodAdaptation(
    enabled=False,
    sensitivity_factor=0.5,
    default_mood="focused",
    allowed_moods=("focused", "curious"),
    mood_prompts={"curious": "Ask more."},
)
trigger = persona_character.MetaPromptTrigger(type="event_based", interval_turns=3, event_name="user_frustrated")
meta_prompt = persona_character.MetaPrompt(
    id="calm_down",
    description="What to do when the user is angry.",
    prompt_template="The user said {{evidence}}.",
    model_id="m-1",
    provider_id="openai",
    output_schema={"type": "object"},
    max_output_tokens=100,
    temperature=0.5,
    trigger=trigger,
)
lifecycle = persona_memory.MemoryLifecycle(negotiation_enabled=True)
triggers = persona_memory.RetrievalTriggers(
    on_user_query=False,
    on_intent_detected=("returns",),
    on_tool_failure=("book",),
    on_missing_context_keywords=("policy",),
    custom_logic_function_name="when_in_doubt",
)
rag = persona_memory.RagConfig(
    enabled=False,
    default_retrieval_strategy="hybrid_search",
    default_retrieval_top_k=3,
    max_tokens=500,
    retrieval_triggers=triggers,
    data_sources=({"id": "wiki"},),
    reranker_config={"enabled": False},
    query_augmentation_prompt_name="wider",
    result_synthesizer_prompt_name="short",
    retrieved_context_processing={"engine": "none"},
    ingestion_triggers={"onTurnSummary": False},
    ingestion_processing={"summarization": {"enabled": False}},
    default_ingestion_data_source_id="wiki",
)
earlier_turns = persona_memory.ConversationContext(
    max_messages=40,
    max_tokens=4_000,
    overflow_strategy="truncate",
    summarization_trigger_tokens=3_000,
    include_tool_results=True,
    include_system_messages=False,
)
completion = persona_memory.CompletionOptions(
    temperature=0.5,
    max_tokens=100,
    top_p=0.9,
    presence_penalty=0.1,
    frequency_penalty=0.2,
    stop=("END",),
    seed=7,
)
memory_config = persona_memory.PersonaMemory(
    enabled=False,
    conversation_context=earlier_turns,
    working_memory_processing={"adaptationRules": []},
    rag_config=rag,
    lifecycle_config=lifecycle,
)
prompt_template = persona_prompt.PromptTemplate(template="You are {{name}}.", variables=("name",))
prompt_fragment = persona_prompt.PromptFragment(content="You help.", priority=1)
element = persona_prompt.ContextualElement(
    id="expert",
    type="SYSTEM_INSTRUCTION_ADDON",
    content="Be brief.",
    criteria={"userSkillLevel": ["expert"]},
    priority=2,
    metadata={"language": "en"},
)
_document = documents.Document(id="rooms", text="Room 7 has a view.")
_source = sources.RagRetrievedChunk(id="rooms#0", content="Room 7 has a view.")
trace_limits = persona_character.TraceLimits(max_entries=50, max_message_length=200)
imprint = persona_character.MemoryImprint(key="city", value="Prague", description="Where the shop is.")
command_kind = personas.UICommandKind(
    name="open_panel",
    description="Opens a panel.",
    payload_schema={"type": "object", "properties": {"order": {"type": "integer"}}},
)
tracking = sentiment.SentimentTracking(
    enabled=False,
    method="llm",
    model_id="m-1",
    history_window=5,
    frustration_threshold=-0.5,
    satisfaction_threshold=0.5,
    consecutive_turns_for_trigger=3,
    presets=("gmi_error_recovery",),
)
persona = personas.Persona(
    id="p1",
    name="Support",
    description="Helps with orders.",
    base_system_prompt="You help.",
    tool_ids=("book",),
    model="m-1",
    temperature=0.5,
    max_tokens=100,
    history_tokens=1_000,
    version="2",
    personality_traits={"patience": 0.9},
    mood_adaptation=moods,
    default_working_memory={"open": []},
    initial_memory_imprints=(imprint,),
    meta_prompts=(meta_prompt,),
    memory_config=memory_config,
    allowed_input_modalities=("text", "image"),
    allowed_output_modalities=("text", "audio"),
    hard_limits=("Never promise a date.",),
    guardrails=("no_cards",),
    ui_commands=(command_kind,),
    sub_agents=("researcher",),
    reasoning_trace_config=trace_limits,
    documents=(_document,),
    sentiment_tracking=tracking,
    default_model_completion_options=completion,
    conversation_context_config=earlier_turns,
    contextual_prompt_elements=(element,),
    custom_fields={"initialUserContext": {"skillLevel": "expert"}},
    required_secrets=("SHOP",),
    label="S",
    default_provider_id="openai",
    model_target_preferences=({"taskHint": "chat"},),
    cost_saving_strategy="balance_quality_cost",
    prompt_engine_config_overrides={"maxTokens": 1_000},
    allowed_capabilities=("web_search",),
    embedded_tools=({"id": "inline"},),
    voice_config={"voiceId": "alloy"},
    avatar_config={"type": "static_image"},
    default_language="cs-CZ",
    ui_interaction_style="directive",
    cognitive_memory_config={"decay": 0.1},
    is_creator_persona=False,
    is_public=True,
    activation_keywords=("refund",),
    strengths=("patience",),
    min_subscription_tier="pro",
)
instance = personas.InstanceTurn(gmi_id="g1", persona=persona, manner="Your mood: focused.", rag_sources=(_source,))

history_call = history_messages.HistoryCall(id="t1jn1zawl", name="book", arguments={"room": 7})
history_message = history_messages.ConversationMessage(
    id="t1/1",
    role="assistant",
    content="Booking.",
    timestamp=NOW_MS,
    name="support",
    tool_calls=(history_call,),
    tool_call_id="t1jn1zawl",
    metadata={"cut": True},
)

scope = instance_contracts.InstanceScope(user_id="ada", persona_id="p1", organization_id="o1", session_id="s1")
open_instance = instance_contracts.OpenInstance(persona=persona, persona_id="p1")
opened = instance_contracts.InstanceOpened(persona=persona, is_own=True, patience=_patience)
read_history = instance_contracts.ReadHistory(scope=scope, conversation_id="c1", turn_id="t1", before="3/1")
history_page = instance_contracts.HistoryPage(messages=(history_message,), cursor="2/0")
replace_history = instance_contracts.ReplaceHistory(
    scope=scope, conversation_id="c1", key="k1", messages=(history_message,), append=True, now_ms=NOW_MS
)
replaced = instance_contracts.HistoryReplaced(messages=4, turns=2)
search = instance_contracts.SearchMemory(scope=scope, query="tea", limit=3)
found = instance_contracts.MemoryFound(
    stats={"working": 1}, memories=({"id": "m1", "content": "Likes tea."},), tensions=({"id": "x1"},)
)
remember = instance_contracts.RememberFeedback(scope=scope, key="k1", statements=("Shorter, please.",), now_ms=NOW_MS)
remembered = instance_contracts.FeedbackRemembered(stored=1)
answer_turn = instance_contracts.AnswerTurn(
    workflow_id="turn-c1-t1", update_id="u1", name="handle_tool_result", body={"toolCallId": "a", "output": 1}
)
turn_answered = instance_contracts.TurnAnswered(waiting_for=("b",), output=_output)
look = instance_contracts.LookAtTurn(workflow_id="turn-c1-t1")
seen = instance_contracts.TurnSeen(is_open=True, output=_output)
reflect = instance_contracts.Reflect(
    gmi_id="g1",
    scope=scope,
    conversation_id="c1",
    prompt=meta_prompt,
    persona=persona,
    mood="curious",
    traits={"patience": 0.9},
    working_memory={"open": []},
    trace=({"type": "WARNING"},),
)
reflection = instance_contracts.Reflection(
    mood="empathetic",
    traits={"patience": 1.0},
    working_memory={"open": ["refund"]},
    skill_level="novice",
    task_complexity="high",
    rationale="The user is angry.",
    error=_error,
    usage=_used,
    model="m-1",
    provider="openai",
)

felt = sentiment.Sentiment(score=-0.8, intensity=0.9, is_confused=True, is_known=False, is_short=True)
assess = sentiment.AssessMessage(text="This is terrible", model="m-1")
assessed = sentiment.MessageAssessed(sentiment=felt, error=_error, usage=_used, model="m-1", provider="openai")

config = gmi_contracts.InstanceConfig(
    user_id="ada",
    organization_id="o1",
    session_id="s1",
    conversation_id="c1",
    default_llm_model_id="m-1",
    max_tool_loop_iterations=3,
    default_reasoning_trace_max_entries=50,
    default_reasoning_trace_max_message_length=200,
    shutdown_timeout_ms=1_000,
    external_tools=(_tool,),
    options=_options,
    pause=_pause,
    limits=_limits,
    on_busy="refuse",
    custom_settings={"theme": "dark"},
    turns_per_run=10,
    messages_per_run=20,
)
start_instance = gmi_contracts.StartInstance(gmi_id="g1", persona=persona, persona_id="p1", config=config)
queued = gmi_contracts.QueuedTurn(
    turn_id="t1",
    conversation_id="c1",
    workflow_id="turn-c1-t1",
    body={"content": "Book it"},
    digest="d1",
    superseding=True,
)
open_turn = gmi_contracts.OpenTurn(
    turn_id="t1",
    conversation_id="c1",
    workflow_id="turn-c1-t1",
    key="c1/t1",
    digest="d1",
    started_at=NOW,
    number=2,
    output=_output,
    pending=_request,
    superseded=True,
)
outcome = gmi_contracts.TurnOutcome(turn_id="t1", conversation_id="c1", digest="d1", output=_output)
last_turn = gmi_contracts.LastTurn(turn_id="t1", conversation_id="c1", key="c1/t1", said="Book it", is_user_turn=False)
notice = gmi_contracts.TurnNotice(workflow_id="turn-c1-t1", turn_id="t1", number=1, output=_output, pending=_request)
unassessed = gmi_contracts.UnassessedMessage(turn_id="t1", text="This is terrible")
record = gmi_contracts.SentimentRecord(
    turn_id="t1", at=NOW, sentiment=felt, events=("user_frustrated",), excerpt="This is terrible"
)
trace_entry = gmi_contracts.TraceEntry(
    timestamp=NOW, type="WARNING", message="A message was refused", details={"name": "shout"}, turn_id="t1"
)
feedback = gmi_contracts.Feedback(
    polarity="negative",
    user_id="ada",
    score=0.2,
    text="Too long.",
    corrected_content="Yes.",
    target_message_id="t1/1",
    tags=("length",),
    at=NOW,
)
rejected_message = gmi_contracts.RejectedMessage(at=NOW, name="shout", reason="no signal has this name")
instance_status = gmi_contracts.InstanceStatus(
    gmi_id="g1",
    state="processing",
    persona_id="p1",
    mood="focused",
    conversation_id="c1",
    user_id="ada",
    open_turn={"turnId": "t1"},
    queued=("t2",),
    turns=3,
    failed=1,
    usage=_costs,
    error=_error,
)

event = gmi_lifecycle.MemoryLifecycleEvent(
    event_id="e1",
    timestamp=NOW,
    type="DELETION_PROPOSED",
    gmi_id="g1",
    persona_id="p1",
    item_id="m1",
    data_source_id="d1",
    category="user_explicit_memory",
    item_summary="Likes tea.",
    reason="old",
    proposed_action="DELETE",
    negotiable=True,
    metadata={"age": 90},
)
response = gmi_lifecycle.LifecycleActionResponse(
    gmi_id="g1", event_id="e1", action_taken="PREVENT_ACTION", rationale="The user asked for it."
)

INSTANCE_EXAMPLES: tuple[Wire, ...] = tuple(
    value for name, value in dict(globals()).items() if isinstance(value, Wire) and not name.startswith("_")
)
