"""One JSON object a line. What is logged is named by us: no text of a request, a memory or a key gets here."""

import json
import logging
import sys
import time
import traceback
from typing import Any

logger = logging.getLogger("turnhold.memory_service")


class JsonLines(logging.Formatter):
    """A record as one line. Of an exception only its type and place are written: its message may quote a statement."""

    def format(self, record: logging.LogRecord) -> str:
        """The line."""
        line: dict[str, Any] = {
            "at": time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(record.created)) + f".{int(record.msecs):03}Z",
            "level": record.levelname,
            "logger": record.name,
            "event": record.getMessage(),
        }
        line |= getattr(record, "facts", {})
        if record.exc_info and record.exc_info[0] is not None:
            line["exception"] = record.exc_info[0].__name__
            line["place"] = [
                f"{frame.filename}:{frame.lineno} {frame.name}"
                for frame in traceback.extract_tb(record.exc_info[2])[-6:]
            ]
        return json.dumps(line, default=str)


def log(event: str, level: int = logging.INFO, *, fault: BaseException | None = None, **facts: Any) -> None:
    """Write one line; `fault` adds where it came from."""
    if logger.isEnabledFor(level):
        logger.log(level, event, extra={"facts": facts}, exc_info=fault)


def log_to_stdout() -> None:
    """Send every log of the process there."""
    handler = logging.StreamHandler(sys.stdout)
    handler.setFormatter(JsonLines())
    logging.basicConfig(level=logging.INFO, handlers=[handler], force=True)
