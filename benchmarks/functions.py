"""Functions of APIs: reading a large document, the weight of a choice, the time of a call: `python -m benchmarks.functions`."""

import argparse
import asyncio

from benchmarks import functions_document, functions_http, functions_tokens
from benchmarks.tables import machine


async def measure(calls: int) -> None:
    """Everything, printed as it is found."""
    print(f"# Functions\n\n{machine()}\n", flush=True)
    print(functions_document.measure(), flush=True)
    print(await functions_tokens.measure(), flush=True)
    print(await functions_http.measure(calls), flush=True)
    print(machine())


if __name__ == "__main__":
    parser = argparse.ArgumentParser(prog="python -m benchmarks.functions", description=__doc__)
    parser.add_argument("--calls", type=int, default=functions_http.CALLS, help="HTTP calls of each kind")
    asyncio.run(measure(parser.parse_args().calls))
