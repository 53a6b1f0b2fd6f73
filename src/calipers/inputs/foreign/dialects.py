"""The table of message dialects, and the reader that recognises them: ``DialectReader``.

Every dialect is recognised by keys that no other message has. Not responsible for objects that hold message lists
(``rollouts``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, NamedTuple

from calipers.errors import InputError
from calipers.inputs.foreign.agentdojo import chat_messages_of_agentdojo, is_agentdojo
from calipers.inputs.foreign.ai_sdk import chat_messages_of_ai_sdk, is_ai_sdk
from calipers.inputs.foreign.atif import chat_messages_of_atif, is_atif
from calipers.inputs.foreign.bedrock import chat_messages_of_bedrock, is_bedrock
from calipers.inputs.foreign.claude_code import chat_messages_of_session_title, is_session_title
from calipers.inputs.foreign.gemini import chat_messages_of_adk, chat_messages_of_gemini, is_adk_event, is_gemini
from calipers.inputs.foreign.mcp_rpc import chat_messages_of_mcp_rpc, is_mcp_rpc
from calipers.inputs.foreign.openhands import chat_messages_of_openhands, is_openhands
from calipers.inputs.foreign.pending import Pending
from calipers.inputs.foreign.pydantic_ai import chat_messages_of_pydantic_ai, is_pydantic_ai
from calipers.inputs.foreign.sharegpt import chat_messages_of_sharegpt, is_sharegpt
from calipers.inputs.foreign.smolagents import chat_messages_of_smolagents, is_smolagents
from calipers.inputs.foreign.tau2 import chat_messages_of_tau2, is_tau2
from calipers.inputs.foreign.typed_parts import chat_messages_of_typed_parts, is_typed_parts


class Dialect(NamedTuple):
    """How the messages of a dialect are recognised, and translated to messages that ``inputs`` reads already."""

    recognises: Callable[[dict[str, Any]], bool]
    translate: Callable[[dict[str, Any], Pending], list[dict[str, Any]]]


DIALECTS: Final[Mapping[str, Dialect]] = {
    "typed_parts": Dialect(is_typed_parts, chat_messages_of_typed_parts),  # Gemini has parts, too, without types
    "gemini": Dialect(is_gemini, chat_messages_of_gemini),
    "adk": Dialect(is_adk_event, chat_messages_of_adk),
    "bedrock": Dialect(is_bedrock, chat_messages_of_bedrock),
    "ai_sdk": Dialect(is_ai_sdk, chat_messages_of_ai_sdk),
    "agentdojo": Dialect(is_agentdojo, chat_messages_of_agentdojo),
    "sharegpt": Dialect(is_sharegpt, chat_messages_of_sharegpt),
    "pydantic_ai": Dialect(is_pydantic_ai, chat_messages_of_pydantic_ai),
    "smolagents": Dialect(is_smolagents, chat_messages_of_smolagents),
    "mcp": Dialect(is_mcp_rpc, chat_messages_of_mcp_rpc),
    "tau2": Dialect(is_tau2, chat_messages_of_tau2),
    "openhands": Dialect(is_openhands, chat_messages_of_openhands),
    "atif": Dialect(is_atif, chat_messages_of_atif),
    "claude_code": Dialect(is_session_title, chat_messages_of_session_title),
}


class DialectReader:
    """Translates the messages of one list; it remembers calls that have no result yet."""

    def __init__(self) -> None:
        self._pending = Pending()

    def translate(self, value: dict[str, Any], number: int) -> list[dict[str, Any]] | None:
        """Return the messages that ``value`` stands for; None if it is of no dialect. Raises InputError."""
        for name, dialect in DIALECTS.items():
            if dialect.recognises(value):
                self._pending.number = number
                try:
                    return dialect.translate(value, self._pending)
                except (AttributeError, KeyError, TypeError, ValueError):  # a field of another type than documented
                    raise InputError(f"looks like a message of {name}, but a field has an unexpected type") from None
        return None


def dialect_of(value: Any) -> str | None:
    """Return the name of the dialect of a plain message; None if it is of none."""
    if not isinstance(value, dict):
        return None
    return next((name for name, dialect in DIALECTS.items() if dialect.recognises(value)), None)
