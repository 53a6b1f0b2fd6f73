"""Read typed content blocks, as Anthropic's API writes them and LangChain, MCP and OpenAI repeat them.

One message of blocks may become several chat messages: every tool result in it becomes a tool message, in order. Not
responsible for blocks that are pure content (``parts``).
"""

from __future__ import annotations

from typing import Any

from calipers.errors import InputError
from calipers.inputs import mcp
from calipers.inputs.parts import content_parts, joined_block_text, joined_texts
from calipers.inputs.plain import compact_json, type_in_words
from calipers.inputs.tools import openai_tool_call

_THOUGHTS = frozenset(("thinking", "redacted_thinking", "reasoning"))
_CALLS = frozenset({
    "tool_use", "server_tool_use", "mcp_tool_use", "tool_call", "server_tool_call", "invalid_tool_call",
    "function_call", "custom_tool_call",
})  # fmt: skip


def messages_from_blocks(head: dict[str, Any], content: Any, *, fallback_id: str) -> list[dict[str, Any]]:
    """Convert a foreign message, given as ``head`` (its keys without content) and ``content``, to one or more chat
    messages.

    ``content`` is plain data: None, text, a block or a list of blocks; other data that a tool returned becomes JSON
    text. Raises InputError with the reason.
    """
    if content is None or isinstance(content, str):
        return [_message_with_content(head, content if content is not None or head["role"] == "assistant" else "")]
    if isinstance(content, dict) and isinstance(content.get("type"), str):
        content = [content]
    if not isinstance(content, list) or (head["role"] == "tool" and not all(map(_is_block, content))):
        if head["role"] == "tool":
            return [_message_with_content(head, compact_json(content))]
        raise InputError(f"'content' must be text or a list of parts, not {type_in_words(content)}")
    return _Unfolding(head, fallback_id).run(content)


def _is_block(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, dict) and isinstance(value.get("type"), str))


def _message_with_content(head: dict[str, Any], content: Any) -> dict[str, Any]:
    return {"role": head["role"], "content": content, **head}


class _Unfolding:
    """Converts the blocks of one message; a tool result among the blocks ends the current chat message."""

    def __init__(self, head: dict[str, Any], fallback_id: str) -> None:
        self.role = head["role"]
        self.fallback_id = fallback_id
        self.done: list[dict[str, Any]] = []
        # LangChain writes the same tool call twice: as a block and in ``tool_calls``.
        self.known = {call["id"] for call in head.get("tool_calls", ())}
        self._open({key: value for key, value in head.items() if key != "role"})

    def _open(self, rest: dict[str, Any]) -> None:
        self.rest = rest
        self.parts: list[dict[str, Any]] = []
        self.calls: list[dict[str, Any]] = list(rest.pop("tool_calls", ()))
        self.thoughts: list[str] = []

    def run(self, blocks: list[Any]) -> list[dict[str, Any]]:
        for number, block in enumerate(blocks, start=1):
            kind = str(block.get("type")) if isinstance(block, dict) else ""
            if kind in _CALLS and self.role != "tool":  # inside a tool's result, these blocks are data and not calls
                self._call(block, number)
            elif kind in _THOUGHTS and self.role != "tool":
                self.thoughts.append(joined_block_text(block))
            elif kind == "refusal" and isinstance(block.get("refusal"), str):
                self.rest["refusal"] = joined_texts((self.rest.get("refusal", ""), block["refusal"]))
            elif kind.endswith("tool_result"):
                self._close()
                self.done.extend(_tool_messages(block, self.fallback_id))
            else:
                self.parts.extend(content_parts(block))
        self._close(last=not self.done)
        return self.done

    def _call(self, block: dict[str, Any], number: int) -> None:
        call = openai_tool_call(block, fallback_id=f"{self.fallback_id}_{number}")
        if call["id"] not in self.known:
            self.known.add(call["id"])
            self.calls.append(call)

    def _close(self, *, last: bool = False) -> None:
        thoughts = joined_texts((self.rest.get("reasoning", ""), "\n\n".join(filter(None, self.thoughts))))
        is_filled = self.parts or self.calls or thoughts or not self.rest.keys().isdisjoint(("reasoning", "refusal"))
        if not (is_filled or last):
            return  # the message's other keys belong to the blocks that follow
        message = {"role": self.role, "content": _content(self.role, self.parts), **self.rest}
        if self.calls:
            message["tool_calls"] = self.calls
        if thoughts:
            message["reasoning"] = thoughts
        self.done.append(message)
        self._open({})


def _content(role: str, found: list[dict[str, Any]]) -> Any:
    if not found:
        return None if role == "assistant" else ""
    if len(found) == 1 and found[0].keys() == {"type", "text"} and found[0]["type"] == "text":
        return found[0]["text"]
    return found


def _tool_messages(block: dict[str, Any], fallback_id: str) -> list[dict[str, Any]]:
    head: dict[str, Any] = {"role": "tool"}
    result = {key: block[key] for key in block if key not in ("type", "tool_use_id", "name")}
    content = mcp.take_mcp_content(result)
    call_id = block.get("tool_use_id") or block.get("tool_call_id") or block.get("toolUseId")
    if call_id:
        head["tool_call_id"] = str(call_id)
    failed = isinstance(content, dict) and str(content.get("type", "")).endswith("_error")
    if result.get("is_error") is True or block.get("status") == "error" or failed:
        head["is_error"] = True
    if "output" in block and content is None:  # LangChain's server_tool_result
        content = block["output"]
    return messages_from_blocks(head, content, fallback_id=fallback_id)
