"""Tool calls of a foreign message list that have no result yet. Not responsible for the messages themselves."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any, NamedTuple


class Request(NamedTuple):
    """A JSON-RPC request that waits for its reply: its id as JSON, its method, and its tool call's id if it is one."""

    key: str
    method: str
    call_id: str | None


@dataclass(slots=True)
class Pending:
    """The calls without a result, as name and id, JSON-RPC requests without a reply, final answers already said, and
    the instructions of the last request.

    ``number`` is the 1-based number of the message that is read; ids made here derive from it.
    """

    number: int = 0
    calls: list[tuple[str, str]] = field(default_factory=list)
    requests: list[Request] = field(default_factory=list)
    finals: set[str] = field(default_factory=set)
    instructions: str | None = None
    _made: int = 0
    _used: set[str] = field(default_factory=set)

    def unused_id(self, call_id: str | None) -> str:
        """Return an id for a call: its own, with a count if an earlier call has it, or a new one."""
        own = call_id or f"call_{self.number}"
        name, count = own, 1
        while name in self._used:
            count += 1
            name = f"{own}-{count}"
        self._used.add(name)
        return name

    def opened(self, name: str, call_id: Any = None) -> str:
        """Return the id of a call of ``name``, and wait for its result. A call without an id gets one."""
        if not call_id:
            self._made += 1
            call_id = f"call_{self.number}_{self._made}"
        self.calls.append((name, str(call_id)))
        return str(call_id)

    def answered(self, name: str | None = None, call_id: Any = None) -> str | None:
        """Return the id of the call that a result belongs to: its own, or that of the oldest waiting call.

        With ``name``, only calls of that name are considered. Returns None if none waits.
        """
        for place, (called, waiting) in enumerate(self.calls):
            if waiting == str(call_id) if call_id else name in (None, called):
                del self.calls[place]
                return waiting
        return str(call_id) if call_id else None


def tool_call(call_id: str, name: str, arguments: Any) -> dict[str, Any]:
    """Return a tool call in a form that ``tools.openai_tool_call`` reads."""
    return {"id": call_id, "name": name, "arguments": {} if arguments is None else arguments}


def tool_result(content: Any, call_id: str | None, *, name: str | None = None, failed: bool = False) -> dict[str, Any]:
    """Return a chat message with the result of the call ``call_id``, or of the tool ``name`` if the call is unknown."""
    caller = {"tool_call_id": call_id} if call_id else {"name": name}
    message = {"role": "tool", "content": "" if content is None else content, **caller}
    return message | ({"is_error": True} if failed else {})
