"""The Nestia agent over durable turns."""

from worker.nestia.agent import NestiaAgent
from worker.nestia.config import NestiaConfig, NestiaProvider, SystemPromptConfig
from worker.nestia.errors import AgentNotRunning, ConversationTaken
from worker.nestia.events import NestiaEvent, Source
from worker.nestia.prompts import Operation, Prompt
from worker.nestia.records import ExecutionRecord, RestoredRecord, TurnRecord

__all__ = [
    "AgentNotRunning",
    "ConversationTaken",
    "ExecutionRecord",
    "NestiaAgent",
    "NestiaConfig",
    "NestiaEvent",
    "NestiaProvider",
    "Operation",
    "Prompt",
    "RestoredRecord",
    "Source",
    "SystemPromptConfig",
    "TurnRecord",
]
