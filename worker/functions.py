"""What a starting worker says of the functions its controllers gave it."""

import logging
from collections.abc import Iterator

from activities.controllers.opening import ControllerReport, Opened
from activities.personas import Personas

MAX_TOLD = 20
MAX_RENAMED = 200
MAX_LINE_CHARS = 500

logger = logging.getLogger("turnhold.worker")


def announce(opened: Opened, personas: Personas) -> None:
    """Log what each controller offers and leaves out, and which persona has more tools than a model takes at once."""
    for report in opened.reports:
        for line in _told(report):
            # Documents and servers wrote parts of it.
            logger.info("%s", " ".join(line.split())[:MAX_LINE_CHARS])
    for persona_id in personas.ids:
        persona = personas.get(persona_id)
        if persona is not None and (excess := opened.tools.excess(persona, ())):
            logger.warning("%s", excess)


def _told(report: ControllerReport) -> Iterator[str]:
    hidden = f", {len(report.hidden)} hidden" if report.hidden else ""
    left_out = f", {len(report.exclusions)} left out" if report.exclusions else ""
    yield f"controller {report.controller}: {len(report.names)} functions, {report.size:,} bytes{hidden}{left_out}"
    yield from (f"controller {report.controller}: {warning}" for warning in report.warnings[:MAX_TOLD])
    for exclusion in report.exclusions[:MAX_TOLD]:
        yield f"controller {report.controller} leaves out {exclusion.function}: {exclusion.reason}"
    if len(report.exclusions) > MAX_TOLD:
        yield f"controller {report.controller} leaves out {len(report.exclusions) - MAX_TOLD} more"
    for name, original in report.renamed[:MAX_RENAMED]:
        yield f"controller {report.controller}: {name} is what it calls {original!r}"
    if len(report.renamed) > MAX_RENAMED:
        yield f"controller {report.controller}: {len(report.renamed) - MAX_RENAMED} more have names of their own"
