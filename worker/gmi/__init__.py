"""An agent instance for Python callers: `GMI` is the interface of AgentOS, `IGMI`, over the instance's workflow."""

from worker.gmi.errors import GMIError
from worker.gmi.instance import GMI
from worker.gmi.interface import IGMI
from worker.gmi.stream import TurnStream

__all__ = ["GMI", "IGMI", "GMIError", "TurnStream"]
