"""Names that stand in histories, in the Temporal UI and in people's shell scripts. Changing one is a protocol change."""

TASK_QUEUE = "agent-turns"
TURN_WORKFLOW = "TurnWorkflow"
GMI_WORKFLOW = "GMIWorkflow"
# Of what is told beside a step the server takes 400 bytes, and a letter has four at most.
SUMMARY_CHARS = 100
# The signal by which a turn tells its instance where it stands.
TURN_STOPPED = "turn_stopped"

TURN_STATE = "TurnState"
CONVERSATION_ID = "ConversationId"
USER_ID = "UserId"
PERSONA_ID = "PersonaId"
PENDING_TOOLS = "PendingTools"
PAUSE_DEADLINE = "PauseDeadline"

# Temporal's value types of the search attributes, by their names in `temporal operator search-attribute create`.
SEARCH_ATTRIBUTES = {
    TURN_STATE: "Keyword",
    CONVERSATION_ID: "Keyword",
    USER_ID: "Keyword",
    PERSONA_ID: "Keyword",
    PENDING_TOOLS: "KeywordList",
    PAUSE_DEADLINE: "Datetime",
}


def turn_workflow_id(conversation_id: str, turn_id: str) -> str:
    """The id under which clients start a turn."""
    return f"turn-{conversation_id}-{turn_id}"


def gmi_workflow_id(gmi_id: str) -> str:
    """The id under which an instance is started."""
    return f"gmi-{gmi_id}"
