"""The event loop of a worker process.

A turn is many small steps that hand over to each other, so what the loop costs for each is a good part of the turn. uvloop
costs the least; it does not exist for Windows.
"""

import sys

if sys.platform == "win32":
    from asyncio import run as run
else:
    from uvloop import run as run
