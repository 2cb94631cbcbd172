"""How a process that used a Temporal client ends."""

import logging
import os
import sys


def leave(code: int) -> None:
    """End the process now.

    The client's threads outlive it, and about one time in twenty they abort an interpreter that ends in the ordinary way:
    https://github.com/temporalio/sdk-python/issues/300. An exit code must not depend on chance.
    """
    logging.shutdown()
    sys.stdout.flush()
    sys.stderr.flush()
    os._exit(code)
