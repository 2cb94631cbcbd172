"""An MCP server for the tests: started as a program, it counts its calls in the file that is its one argument."""

import base64
import os
import sys
from pathlib import Path

from mcp.server.mcpserver import MCPServer
from mcp.types import ImageContent, ToolAnnotations

CALLS = Path(sys.argv[1])
server = MCPServer("shop", log_level="CRITICAL")


def count(name: str) -> int:
    """Note a call and say how many there were."""
    with CALLS.open("a") as file:
        file.write(f"{name}\n")
    return CALLS.read_text().split().count(name)


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def add(a: int, b: int) -> int:
    """Add two numbers."""
    return a + b


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def look() -> str:
    """Die the first time, answer the second."""
    if count("look") == 1:
        os._exit(1)
    return "there"


@server.tool(annotations=ToolAnnotations(read_only_hint=True))
def draw() -> ImageContent:
    """Draw a picture."""
    return ImageContent(data=base64.b64encode(b"\x89PNG\r\n\x1a\n").decode(), mime_type="image/png")


@server.tool()
def pay() -> str:
    """Die before an answer."""
    count("pay")
    os._exit(1)


@server.tool()
def token() -> str:
    """Repeat a secret."""
    return f"it is {os.environ['SHOP_TOKEN']}"


server.run("stdio")
