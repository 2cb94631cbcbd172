"""What a turn's answer may rest on: looked up once, before the model is asked. A turn that finds nothing goes on without."""

from temporalio import workflow
from temporalio.exceptions import ActivityError, is_cancelled_exception

with workflow.unsafe.imports_passed_through():
    import workflows.steps as steps
    from activities.contracts import RetrieveSources, SourcesRetrieved
    from workflows.failures import failure_of
    from workflows.turn_state import TurnState


async def find_sources(state: TurnState) -> None:
    """Have the sources of the turn looked up. Their failure is told in the trace and fails nothing."""
    state.transcript.note("RAG_QUERY_START", "Looking up sources", workflow.now())
    request = RetrieveSources(turn_id=state.key, now_ms=int(workflow.now().timestamp() * 1000))
    try:
        found = await steps.retrieve_sources(request)
    except ActivityError as fault:
        if is_cancelled_exception(fault):
            raise
        found = SourcesRetrieved(failures=(failure_of(fault).message,))
    state.take_sources(found, workflow.now())
