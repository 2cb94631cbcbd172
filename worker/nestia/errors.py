"""What goes wrong with an agent, besides a turn that fails (`worker.client.TurnFailed`)."""


class AgentNotRunning(Exception):
    """The agent was not started, or is closed. A turn that is open goes on when an agent of its conversation runs."""


class ConversationTaken(Exception):
    """The conversation belongs to another user."""
