"""Store errors as Temporal takes them: one type for all, retried while time may heal them."""

from collections.abc import Iterator
from contextlib import contextmanager

from temporalio.exceptions import ApplicationError

from activities.errors import SYS_DATABASE_ERROR
from activities.store.errors import StoreUnavailable


@contextmanager
def store_failures() -> Iterator[None]:
    """Translate what a database does to us. What a store refuses on purpose passes through.

    Raises:
        ApplicationError: `SYS_DATABASE_ERROR`, non-retryable when waiting does not help (a read-only database).
    """
    try:
        yield
    except StoreUnavailable as fault:
        raise ApplicationError(str(fault), type=SYS_DATABASE_ERROR, non_retryable=not fault.retryable) from fault
