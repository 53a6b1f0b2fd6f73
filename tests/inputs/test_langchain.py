from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs import canonical

BARE = {"name": None, "id": None, "additional_kwargs": dict[str, Any](), "response_metadata": dict[str, Any]()}
# As BaseMessage.model_dump() of langchain-core 1.7 writes them.
DUMPS: list[dict[str, Any]] = [
    {**BARE, "type": "system", "content": "s"},
    {
        **BARE,
        "type": "human",
        "content": [{"type": "text", "text": "look"}, {"type": "image", "url": "https://a/b.png"}],
    },
    {
        **BARE,
        "type": "ai",
        "content": [{"type": "text", "text": "t"}, {"type": "tool_use", "id": "c1", "name": "f", "input": {"a": 1}}],
        "additional_kwargs": {"reasoning_content": "rc", "refusal": None},
        "tool_calls": [{"name": "f", "args": {"a": 1}, "id": "c1", "type": "tool_call"}],
        "invalid_tool_calls": [{"type": "invalid_tool_call", "id": "c9", "name": "g", "args": "{bad", "error": "e"}],
        "usage_metadata": None,
    },
    {
        **BARE,
        "type": "tool",
        "content": "boom",
        "name": "f",
        "tool_call_id": "c1",
        "artifact": {"x": 1},
        "status": "error",
    },
    {**BARE, "type": "remove", "content": "", "id": "1"},
    {**BARE, "type": "chat", "content": "x", "role": "narrator"},
    {**BARE, "type": "chat", "content": "y", "role": "assistant"},
    {**BARE, "type": "AIMessageChunk", "content": "z", "tool_calls": [], "chunk_position": None},
]
EXPECTED = (
    {"role": "system", "content": "s"},
    {
        "role": "user",
        "content": [{"type": "text", "text": "look"}, {"type": "image_url", "image_url": {"url": "https://a/b.png"}}],
    },
    {
        "role": "assistant",
        "content": "t",
        "reasoning": "rc",
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "f", "arguments": '{"a":1}'}},
            {"id": "c9", "type": "function", "function": {"name": "g", "arguments": "{bad"}},
        ],
    },
    {"role": "tool", "content": "boom", "name": "f", "tool_call_id": "c1", "is_error": True},
    {"role": "user", "content": "x", "name": "narrator"},
    {"role": "assistant", "content": "y"},
    {"role": "assistant", "content": "z"},
)


def serialised(dump: dict[str, Any]) -> dict[str, Any]:
    name = {"ai": "AIMessage", "AIMessageChunk": "AIMessageChunk"}.get(dump["type"], dump["type"].title() + "Message")
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {key: dump[key] for key in dump if key != "type"}}


@pytest.mark.parametrize("form", ["object", "dump", "messages_to_dict", "dumpd"])
def test_all_four_forms_of_langchain_messages_read_alike(form: str) -> None:
    forms: dict[str, list[Any]] = {
        "object": [SimpleNamespace(**dump) for dump in DUMPS],
        "dump": DUMPS,
        "messages_to_dict": [{"type": dump["type"], "data": dump} for dump in DUMPS],
        "dumpd": [serialised(dump) for dump in DUMPS],
    }
    assert canonical(forms[form]) == EXPECTED


def test_pairs_of_role_and_text_are_messages() -> None:
    assert canonical([("system", "s"), ("human", "q"), ("ai", "a")]) == (
        {"role": "system", "content": "s"},
        {"role": "user", "content": "q"},
        {"role": "assistant", "content": "a"},
    )


def test_calls_kept_in_openai_form_only_are_found() -> None:
    call = {"id": "c", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    message = {"type": "ai", "content": "", "tool_calls": [], "additional_kwargs": {"tool_calls": [call]}}
    assert canonical([message])[0]["tool_calls"] == [call]


def test_fields_of_the_wrong_kind_are_named() -> None:
    with pytest.raises(InputError, match="message 1 'additional_kwargs' must be an object, not a number"):
        canonical([{"type": "ai", "content": "", "additional_kwargs": 1}])
    with pytest.raises(InputError, match="'tool_calls' must be a list, not text"):
        canonical([{"type": "ai", "content": "", "tool_calls": "x"}])


def test_real_langchain_messages_read_like_their_recorded_forms() -> None:
    messages = pytest.importorskip(
        "langchain_core.messages", reason="langchain-core is not installed: only its recorded forms are tested"
    )
    load = pytest.importorskip("langchain_core.load")
    dumps = [dump for dump in DUMPS if dump["type"] != "AIMessageChunk"]
    real = messages.messages_from_dict(
        [{"type": dump["type"], "data": dump} for dump in dumps if dump["type"] != "remove"]
    )
    assert canonical(real) == EXPECTED[:-1]
    assert canonical(messages.messages_to_dict(real)) == EXPECTED[:-1]
    assert canonical([load.dumpd(message) for message in real]) == EXPECTED[:-1]
    assert canonical([messages.RemoveMessage(id="1"), messages.AIMessageChunk(content="z")]) == EXPECTED[-1:]
