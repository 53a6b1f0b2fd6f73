"""Tools of a real MCP server, by MCP's own SDK, as a process and over HTTP; and of a file."""

from __future__ import annotations

import asyncio
import json
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from socket import socket
from subprocess import PIPE, Popen

import pytest

from calipers.errors import ConfigError, InputError
from calipers.scenarios.tools import mcp_tools, read_tools

SERVER = """
import sys
from mcp.server import MCPServer
server = MCPServer("shop")

@server.tool()
def refund(order: str, amount: float) -> str:
    "Refunds an order."
    return "done"

@server.tool()
def look_up(order: str) -> str:
    "Looks up an order."
    return "found"

if len(sys.argv) > 1:
    server.run("streamable-http", port=int(sys.argv[1]))
else:
    server.run("stdio")
"""
_NEEDS = "MCP's SDK is not installed: pip install 'calipers[mcp]'"


@pytest.fixture
def server(tmp_path: Path) -> Path:
    pytest.importorskip("mcp", reason=_NEEDS)
    path = tmp_path / "server.py"
    path.write_text(SERVER, encoding="utf-8")
    return path


def named(tools: object) -> set[str]:
    return {tool["function"]["name"] for tool in tools}  # type: ignore[attr-defined]  # definitions in OpenAI's form


async def test_a_commands_tools_are_definitions_in_openais_form(server: Path) -> None:
    found = await mcp_tools(f"{sys.executable} {server}")
    assert named(found) == {"refund", "look_up"}
    by_name = {tool["function"]["name"]: tool["function"] for tool in found}
    assert by_name["refund"]["description"] == "Refunds an order."
    assert set(by_name["refund"]["parameters"]["properties"]) == {"order", "amount"}


@contextmanager
def served(server: Path) -> Iterator[int]:
    with closing(socket()) as free:
        free.bind(("127.0.0.1", 0))
        port = int(free.getsockname()[1])
    process = Popen([sys.executable, str(server), str(port)], stdout=PIPE, stderr=PIPE)
    try:
        yield port
    finally:
        process.terminate()
        process.communicate()


async def test_a_servers_tools_over_http(server: Path) -> None:
    with served(server) as port:
        for _ in range(300):
            try:
                _, writer = await asyncio.open_connection("127.0.0.1", port)
                writer.close()
                break
            except OSError:
                await asyncio.sleep(0.1)
        assert named(await mcp_tools(f"http://127.0.0.1:{port}/mcp")) == {"refund", "look_up"}


async def test_a_server_that_cannot_be_started_is_one_sentence(server: Path) -> None:
    with pytest.raises(InputError, match="MCP server no-such-command-here cannot be read"):
        await mcp_tools("no-such-command-here")


async def test_without_the_sdk_the_remedy_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "mcp", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[mcp\]'"):
        await mcp_tools("anything")


def test_a_file_of_tools_in_any_form(tmp_path: Path) -> None:
    path = tmp_path / "tools.json"
    path.write_text(json.dumps({"tools": [{"name": "a", "inputSchema": {"type": "object"}}]}), encoding="utf-8")
    assert named(read_tools(str(path))) == {"a"}
    path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())  # as Windows editors save it
    assert named(read_tools(str(path))) == {"a"}
    for text, complaint in (("[", "is not JSON"), ("[]", "holds no tool definitions"), ("3", "'tools' must be a list")):
        path.write_text(text, encoding="utf-8")
        with pytest.raises(InputError, match=complaint):
            read_tools(str(path))
    with pytest.raises(InputError, match="cannot be read"):
        read_tools(str(tmp_path / "none.json"))
