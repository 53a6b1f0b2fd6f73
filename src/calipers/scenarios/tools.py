"""Tool definitions that scenarios are written for: from a file, or from an MCP server by MCP's own SDK."""

from __future__ import annotations

import asyncio
import json
import shlex
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.parts import openai_tool_definitions
from calipers.types import Tool

_INSTALL: Final = "reading an MCP server's tools needs its SDK: pip install 'calipers[mcp]'"
_MOST_PAGES: Final = 100


def read_tools(path: str) -> tuple[Tool, ...]:
    """Return the tool definitions in a JSON file: a list, or an object with ``tools``, in any API's form.

    Raises InputError naming the file and what is wrong.
    """
    try:
        found = openai_tool_definitions(json.loads(Path(path).read_text(encoding="utf-8-sig")))
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror or error}", source=path) from None
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}", source=path) from None
    except InputError as error:
        raise InputError(str(error), source=path) from None
    if not found:
        raise InputError("holds no tool definitions", source=path)
    return found


async def mcp_tools(server: str, *, seconds: float = 60.0) -> tuple[Tool, ...]:
    """Return the tools of an MCP server: ``server`` is its URL (streamable HTTP), or the command that starts it.

    A command's server is started without a shell and ended afterwards. Raises ConfigError without MCP's SDK, and
    InputError for a server that cannot be reached within ``seconds``, or has no tools.
    """
    try:
        async with asyncio.timeout(seconds):
            listed = await _listed(server)
    except ConfigError:
        raise
    except TimeoutError:
        raise InputError(f"the MCP server {server} did not answer within {seconds:g} seconds") from None
    except Exception as error:  # noqa: BLE001 - whatever the SDK, or a task group in it, raises for a bad server
        raise InputError(f"the MCP server {server} cannot be read: {_innermost(error)}") from None
    tools = openai_tool_definitions(listed) if listed else None
    if not tools:
        raise InputError(f"the MCP server {server} has no tools")
    return tools


async def _listed(server: str) -> list[Any]:
    try:
        from mcp import ClientSession  # noqa: PLC0415 - an extra
        from mcp.types import PaginatedRequestParams  # noqa: PLC0415 - likewise
    except ImportError:
        raise ConfigError(_INSTALL) from None
    async with AsyncExitStack() as stack:
        read, write = await _connected(stack, server)
        session = await stack.enter_async_context(ClientSession(read, write))
        await session.initialize()
        found: list[Any] = []
        cursor: str | None = None
        for _ in range(_MOST_PAGES):
            page = await session.list_tools(params=PaginatedRequestParams(cursor=cursor))
            found += [tool.model_dump(by_alias=True, exclude_none=True) for tool in page.tools]
            cursor = page.next_cursor
            if not cursor:
                break
        return found


async def _connected(stack: AsyncExitStack, server: str) -> tuple[Any, Any]:
    """Open the streams to an MCP server, over HTTP or to a process."""
    if server.startswith(("http://", "https://")):
        from mcp.client.streamable_http import streamable_http_client  # noqa: PLC0415 - an extra

        streams = await stack.enter_async_context(streamable_http_client(server))
        return streams[0], streams[1]
    from mcp import StdioServerParameters  # noqa: PLC0415 - an extra
    from mcp.client.stdio import stdio_client  # noqa: PLC0415 - likewise

    command, *arguments = shlex.split(server) or [server]
    started = stdio_client(StdioServerParameters(command=command, args=arguments))
    read, write = await stack.enter_async_context(started)
    return read, write


def _innermost(error: BaseException) -> str:
    """Return the first cause in an error, which a task group may hold inside another."""
    while isinstance(error, BaseExceptionGroup) and error.exceptions:
        error = error.exceptions[0]
    return f"{type(error).__name__}: {error}" if str(error) else type(error).__name__
