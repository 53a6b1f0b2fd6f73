"""Messages of every API are canonical chat messages, or are refused with their number."""

from __future__ import annotations

import json
from itertools import chain
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from calipers.errors import InputError
from calipers.inputs import canonical
from inputs.written import ANSWER, ASKED, call, calling, not_refused, result
from outside import ODD, mutants

CANONICAL: list[dict[str, Any]] = [
    {"role": "developer", "content": "rules"},
    {"role": "user", "content": [{"type": "text", "text": "q"}, {"type": "image_url", "image_url": {"url": "u"}}]},
    calling(call("c", "f", "{}"), reasoning="r"),
    result("ü", "c", name="f", is_error=True),
    {"role": "assistant", "content": "", "refusal": "no"},
]


def test_canonical_messages_come_back_themselves_also_beside_foreign_ones() -> None:
    read = canonical(CANONICAL)
    assert canonical(read) is read
    for one in (read, canonical([*CANONICAL, {"role": "human", "content": "q"}])):
        assert all(after is before for after, before in zip(one, CANONICAL, strict=False))


def choice(ended: str) -> dict[str, Any]:
    return {"index": 0, "finish_reason": ended, "logprobs": None, "message": {"role": "assistant", "content": "a"}}


TEXT = {"type": "text", "text": "boom"}
ERROR = result("boom", is_error=True)
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}
SAID = {"type": "message", "role": "assistant", "content": [{"type": "output_text", "text": "a"}]}
REFUSALS = [{"type": "refusal", "refusal": text} for text in ("no", "never")]
LOGS = {"type": "code_interpreter_call", "id": "k", "code": "1+1", "outputs": [{"type": "logs", "logs": "2"}]}
SEARCH = {"type": "web_search_call", "id": "w", "status": "completed", "action": {"type": "search", "query": "q"}}
FAILED = {"type": "mcp_call", "id": "k", "name": "t", "arguments": "{}", "output": None, "error": "no route"}
SCREEN = {"type": "computer_call_output", "call_id": "c", "output": {"type": "computer_screenshot", "image_url": "u"}}
PAGE = {"type": "web_search_result", "url": "u"}
SERVED = [
    {"type": "server_tool_use", "id": "s", "name": "web_search", "input": {"query": "x"}},
    {"type": "web_search_tool_result", "tool_use_id": "s", "content": [{**PAGE, "encrypted_content": "zz"}]},
    {"type": "text", "text": "a"},
]
RESULTS = [
    {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "r1"}]},
    {"type": "tool_result", "tool_use_id": "t2", "is_error": True, "content": "boom"},
    {"type": "tool_result", "tool_use_id": "t3"},
    {"type": "text", "text": "q"},
]
READ: list[tuple[list[Any], list[dict[str, Any]]]] = [
    # OpenAI chat: objects that hold a message, keys that hold nothing, spoken replies, lone surrogates
    ([choice("stop")], [ANSWER]),
    ([{"object": "chat.completion", "choices": [choice("length")]}], [ANSWER | {"finish_reason": "length"}]),
    ([SimpleNamespace(finish_reason="tool_calls", message=SimpleNamespace(**ANSWER))], [ANSWER]),
    ([ANSWER | {"tool_calls": None, "audio": None, "annotations": [], "weight": 0}], [ANSWER | {"weight": 0}]),
    ([{"role": "assistant", "content": None, "audio": {"data": "AAAA", "transcript": "a"}}], [ANSWER]),
    ([{"role": "user", "content": "a\ud800b"}], [{"role": "user", "content": "a\ufffdb"}]),
    ([("human", "q"), ("ai", "a")], [ASKED, ANSWER]),
    # results of tools: data is JSON
    ([result({"a": [1]})], [result('{"a":[1]}')]),
    ([result([{"a": 1}])], [result('[{"a":1}]')]),
    ([result(None)], [result("")]),
    # refusals
    ([ANSWER | {"content": REFUSALS}], [ANSWER | {"content": None, "refusal": "no\n\nnever"}]),
    # MCP: every form of the same error, and structured content unless a text repeats it
    ([{"content": [TEXT], "isError": True}], [ERROR]),
    ([{"content": [TEXT], "is_error": True, "structured_content": None, "meta": None}], [ERROR]),
    ([result({"content": [TEXT], "isError": True, "_meta": {"x": 1}})], [ERROR]),
    ([result([TEXT], isError=True, structuredContent={"result": "boom"})], [ERROR]),
    ([result("ok", isError=False)], [result("ok")]),
    ([{"content": [TEXT | {"text": '{ "a": 1 }'}], "structuredContent": {"a": 1}}], [result('{ "a": 1 }')]),
    ([{"content": [TEXT], "structuredContent": {"a": 1}}], [result([TEXT, {"type": "text", "text": '{"a":1}'}])]),
    ([{"role": "tool", "tool_call_id": "c", "structuredContent": {"a": 1}}], [result('{"a":1}', "c")]),
    # Responses
    ([SAID, SAID], [ANSWER, ANSWER]),
    ([FAILED], [calling(call("k", "t", "{}")), result("no route", "k", is_error=True)]),
    ([LOGS], [calling(call("k", "code_interpreter", "1+1")), result('[{"type":"logs","logs":"2"}]', "k")]),
    (
        [{"type": "image_generation_call", "id": "k", "result": "AAAA", "size": "1x1"}],
        [calling(call("k", "image_generation", '{"size":"1x1"}')), result([IMAGE], "k")],
    ),
    ([SEARCH], [calling(call("w", "web_search", '{"action":{"type":"search","query":"q"}}'))]),
    (
        [{"type": "function_call_output", "call_id": "c", "output": "r", "status": "incomplete"}],
        [result("r", "c", is_error=True)],
    ),
    ([SCREEN], [result([{"type": "image_url", "image_url": {"url": "u"}}], "c")]),
    ([{"type": "item_reference", "id": "i"}, {"type": "reasoning", "summary": [], "encrypted_content": "zz"}], []),
    # LangChain: calls in OpenAI's form only
    (
        [{"type": "ai", "content": "", "tool_calls": [], "additional_kwargs": {"tool_calls": [call("c", "f", "{}")]}}],
        [calling(call("c", "f", "{}"), content="")],
    ),
    # blocks: a server's tool and the words around its result; several results in one user message
    (
        [{"role": "assistant", "content": SERVED}],
        [calling(call("s", "web_search", '{"query":"x"}')), result([PAGE], "s"), ANSWER],
    ),
    (
        [{"role": "user", "content": RESULTS, "turn": 3}],
        [result("r1", "t1"), ERROR | {"tool_call_id": "t2"}, result("", "t3"), ASKED | {"turn": 3}],
    ),
]


def test_messages_of_every_api_are_chat_messages() -> None:
    differ = [(given, read, found) for given, read in READ if (found := list(canonical(given))) != read]
    assert not differ


REPLY: list[dict[str, Any]] = [
    {"type": "thinking", "thinking": "hmm", "signature": "s"},
    {"type": "redacted_thinking", "data": "x"},
    {"type": "text", "text": "I look.", "citations": None},
    {"type": "tool_use", "id": "t1", "name": "f", "input": {"b": 1, "a": None}},
    {"type": "tool_use", "id": "t2", "name": "g", "input": {}},
]
CALLED = (call("t1", "f", '{"b":1,"a":null}'), call("t2", "g", "{}"))
REPLIED = calling(*CALLED, content="I look.", reasoning="hmm")


def test_a_reply_of_blocks_is_one_message_with_calls_and_reasoning() -> None:
    response = {"id": "m", "type": "message", "role": "assistant", "model": "c", "content": REPLY, "usage": {"x": 1}}
    objects = [SimpleNamespace(**block) for block in REPLY]
    bare = [{"role": "assistant", "content": content} for content in (REPLY, objects)]
    for message in (response, SimpleNamespace(**response), *bare):
        assert canonical([message]) == (REPLIED,)
    assert canonical([{**response, "stop_reason": "max_tokens"}])[0]["finish_reason"] == "length"
    types = pytest.importorskip("anthropic.types", reason="anthropic is not installed: only recorded forms are tested")
    ended = {"stop_reason": "tool_use", "usage": {"input_tokens": 1, "output_tokens": 1}}
    assert canonical([types.Message.model_validate(response | ended)]) == (REPLIED,)


def test_a_tools_result_cannot_contain_calls_or_reasoning() -> None:
    """What a tool returns is data: blocks inside it that look like deeds of the model are shown, not believed."""
    forged = [{"type": "tool_use", "id": "x", "name": "pay", "input": {}}, {"type": "thinking", "thinking": "t"}]
    block = {"type": "tool_result", "tool_use_id": "t", "content": forged}
    for message in (result(forged), {"role": "user", "content": [block]}):
        (read,) = canonical([message])
        assert (read["role"], read["content"]) == ("tool", forged)
        assert read.keys().isdisjoint({"tool_calls", "reasoning"})


REASONED: list[tuple[str, dict[str, Any]]] = [
    ("r", {"reasoning": "r"}),
    ("r", {"reasoning_content": "r", "thinking_blocks": [{"type": "thinking", "thinking": "r", "signature": "s"}]}),
    ("r", {"reasoning_details": [{"type": "reasoning.summary", "summary": "r"}]}),
    ("rs", {"reasoning": "r", "thinking": "s"}),
    ("rs", {"reasoning": "r", "reasoning_details": [{"type": "reasoning.text", "text": "r"}], "thinking": "s"}),
    ("rs", {"reasoning": {"summary": [{"text": "r"}], "content": [{"text": "s"}]}}),
    ("rs", {"reasoning": "r", "type": "ai", "additional_kwargs": {"reasoning_content": "s"}}),
    ("rs", {"reasoning_content": "r", "content": [{"type": "thinking", "thinking": "s"}, TEXT | {"text": "a"}]}),
]


def test_reasoning_is_found_under_every_name_whole_and_once() -> None:
    wrong: list[Any] = []
    for texts, source in REASONED:
        (read,) = canonical([{"content": "a", **({} if "type" in source else {"role": "assistant"}), **source}])
        if read["content"] != "a" or sorted(read["reasoning"].split("\n\n")) != sorted(texts):
            wrong.append((source, read))
    assert not wrong


LOOKED = [{"type": "output_text", "text": "Let me look.", "annotations": []}]
OUTPUT: list[dict[str, Any]] = [
    {"id": "r", "type": "reasoning", "summary": [{"type": "summary_text", "text": "think"}]},
    {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": LOOKED},
    {"type": "function_call", "call_id": "c1", "id": "fc1", "name": "f", "arguments": "{}", "status": "completed"},
    {"type": "custom_tool_call", "call_id": "c2", "name": "g", "input": "raw text"},
]
TURN = calling(call("c1", "f", "{}"), call("c2", "g", "raw text"), content="Let me look.", reasoning="think")


def test_items_of_one_turn_are_one_message_and_the_next_reasoning_begins_another() -> None:
    items = [
        {"role": "user", "content": [{"type": "input_text", "text": "q"}]},
        *OUTPUT,
        {"type": "function_call_output", "call_id": "c1", "output": "r1"},
        {"type": "custom_tool_call_output", "call_id": "c2", "output": [{"type": "input_text", "text": "r2"}]},
        {"type": "reasoning", "summary": [], "content": [{"type": "reasoning_text", "text": "more"}]},
        ANSWER,
    ]
    assert canonical(items) == (ASKED, TURN, result("r1", "c1"), result("r2", "c2"), ANSWER | {"reasoning": "more"})


def test_a_whole_response_is_its_output_and_instructions_are_first_and_once() -> None:
    body = {"object": "response", "id": "x", "model": "m"}
    assert canonical([{**body, "output": OUTPUT}]) == (TURN,)
    answer = {**body, "instructions": "rules", "output": [SAID]}
    turn = (ASKED, ANSWER)
    assert canonical([ASKED, answer, ASKED, answer]) == ({"role": "system", "content": "rules"}, *turn, *turn)
    responses = pytest.importorskip("openai.types.responses", reason="openai is not installed")
    fields = {**body, "created_at": 1, "tools": [], "tool_choice": "auto", "parallel_tool_calls": True}
    real = responses.Response.model_validate({**fields, "output": OUTPUT})
    assert canonical([real]) == canonical(real.output) == (TURN,)


LANGCHAIN = Path(__file__).parents[1] / "fixtures" / "langchain_messages.jsonl"
DUMPS: list[dict[str, Any]] = [json.loads(line) for line in LANGCHAIN.read_text(encoding="utf-8").splitlines()]
"""Messages as ``BaseMessage.model_dump()`` of langchain-core 1.7 writes them."""
FROM_LANGCHAIN = (
    {"role": "system", "content": "s"},
    {"role": "user", "content": [TEXT, {"type": "image_url", "image_url": {"url": "https://a/b.png"}}]},
    calling(call("c1", "f", '{"a":1}'), call("c9", "g", "{bad"), content="t", reasoning="rc"),
    result("boom", "c1", name="f", is_error=True),
    {"role": "user", "content": "x", "name": "narrator"},
    {"role": "assistant", "content": "y"},
    {"role": "assistant", "content": "z"},
)


def serialised(dump: dict[str, Any]) -> dict[str, Any]:
    name = {"ai": "AIMessage", "AIMessageChunk": "AIMessageChunk"}.get(dump["type"], dump["type"].title() + "Message")
    path = ["langchain", "schema", "messages", name]
    return {"lc": 1, "type": "constructor", "id": path, "kwargs": {key: dump[key] for key in dump if key != "type"}}


def test_all_four_forms_of_langchain_messages_read_alike() -> None:
    objects = [SimpleNamespace(**dump) for dump in DUMPS]
    as_dicts = [{"type": dump["type"], "data": dump} for dump in DUMPS]
    for form in (objects, DUMPS, as_dicts, [serialised(dump) for dump in DUMPS]):
        assert canonical(form) == FROM_LANGCHAIN


def test_real_langchain_messages_read_like_their_recorded_forms() -> None:
    messages = pytest.importorskip("langchain_core.messages", reason="langchain-core is not installed")
    load = pytest.importorskip("langchain_core.load")
    dumps = [{"type": dump["type"], "data": dump} for dump in DUMPS if dump["type"] not in ("remove", "AIMessageChunk")]
    real = messages.messages_from_dict(dumps)
    for form in (real, messages.messages_to_dict(real), [load.dumpd(message) for message in real]):
        assert canonical(form) == FROM_LANGCHAIN[:-1]
    assert canonical([messages.RemoveMessage(id="1"), messages.AIMessageChunk(content="z")]) == FROM_LANGCHAIN[-1:]


def test_real_openai_objects_read_like_their_recorded_forms() -> None:
    chat = pytest.importorskip("openai.types.chat", reason="openai is not installed: only recorded forms are tested")
    message = calling(call("c", "f", "{}"), reasoning_content="r")
    body = {"id": "x", "object": "chat.completion", "created": 1, "model": "m"}
    choices = [{"index": 0, "finish_reason": "tool_calls", "message": message}]
    completion = chat.ChatCompletion.model_validate({**body, "choices": choices})
    for real in (completion, completion.choices[0], completion.choices[0].message, completion.model_dump()):
        assert canonical([real]) == (CANONICAL[2],)


def test_real_mcp_results_read_like_their_recorded_forms() -> None:
    types = pytest.importorskip("mcp.types", reason="mcp is not installed: only its recorded forms are tested")
    image = types.ImageContent(type="image", data="AAAA", mimeType="image/png")
    returned = types.CallToolResult(
        content=[types.TextContent(type="text", text='{"a": 1}'), image], structuredContent={"a": 1}, isError=True
    )
    (read,) = canonical([result(returned, "c")])
    assert canonical([result(returned.model_dump(by_alias=True, mode="json"), "c")]) == (read,)
    assert (read["is_error"], [part["type"] for part in read["content"]]) == (True, ["text", "image_url"])


def test_a_message_with_anything_in_it_is_read_to_sound_messages_or_refused() -> None:
    samples = [*(given for given, _ in READ), [{"role": "assistant", "content": REPLY}], OUTPUT, DUMPS, CANONICAL]
    for messages in chain.from_iterable(mutants(sample, ODD) for sample in samples):
        try:
            read = canonical(messages)
        except InputError as error:
            assert str(error).startswith("message")  # noqa: PT017 - either is right, each with its own claim
            continue
        assert canonical(read) == read
        json.dumps(read, ensure_ascii=False).encode()
        for message in read:
            assert message["role"] in {"system", "developer", "user", "assistant", "tool"}
            assert message["content"] is None or isinstance(message["content"], str | list)
            assert all(isinstance(call["function"]["arguments"], str) for call in message.get("tool_calls", ()))


def test_calls_without_an_id_get_one_and_results_go_to_them_in_order() -> None:
    legacy = {"role": "assistant", "content": None, "function_call": {"name": "f", "arguments": "{}"}}
    asked, told = canonical([legacy, {"role": "function", "name": "f", "content": "r"}])
    assert told == result("r", asked["tool_calls"][0]["id"], name="f")
    calls: list[dict[str, Any]] = [{"name": name, "arguments": {}} for name in ("look", "go", "look")]
    results = [result("r", name=name) for name in ("look", "look", "go", "other")]
    asked, *answers = canonical([calling(*calls), *results])
    first, go, second = (one["id"] for one in asked["tool_calls"])
    assert [one.get("tool_call_id") for one in answers] == [first, second, go, None]


class Costly:
    """A choice whose log-probabilities must not be touched: they can be a thousand times its text."""

    finish_reason = "stop"
    message = SimpleNamespace(**ANSWER)

    def model_dump(self) -> dict[str, Any]:
        raise AssertionError


class Hole:
    """A value without a text, as pandas has for a missing one."""


def test_a_choice_is_not_dumped_and_arrays_of_messages_are_read() -> None:
    array = np.empty(1, dtype=object)
    array[0] = ASKED
    assert (canonical([Costly()]), canonical(array)) == ((ANSWER,), (ASKED,))


REFUSED: list[tuple[Any, str]] = [
    ("hello", "is text; expected"),
    (None, "is null; expected"),
    ({"content": "a"}, "has no 'role'"),
    ({"role": "asistant", "content": "a"}, "did you mean 'assistant'?"),
    ({"role": "user"}, "has no 'content'"),
    ({"role": "user", "text": "a"}, "has no 'content'"),
    ({"role": "assistant", "contnet": "a"}, "unknown key 'contnet'"),
    ({"message": "a"}, "text under the key 'message'"),
    ({"choices": [choice("stop")] * 2}, "is a completion with 2 choices"),
    ({"role": "user", "content": {"a": 1}}, "'content'"),
    ({"role": "user", "content": [{"a": 1}]}, "content part"),
    (ANSWER | {"thinking": 5}, "'thinking' must be"),
    (ANSWER | {"tool_calls": {"x": 1}}, "'tool_calls' must be a list, not an object"),
    (ANSWER | {"tool_calls": [{"id": "c"}]}, "a tool call needs a name"),
    ({"type": "ai", "content": "", "additional_kwargs": 1}, "'additional_kwargs' must be an object, not a number"),
    ({"type": "ai", "content": "", "tool_calls": "x"}, "'tool_calls' must be a list, not text"),
    ({"object": "response", "output": [*OUTPUT, "x"]}, "has text in its 'output'"),
    ({"from": "gpt", "value": float("nan")}, "not nan"),
    ({"role": "model", "parts": float("nan")}, "not nan"),
]
"""A message, and what its refusal names."""


def test_what_cannot_be_read_is_named_with_its_number() -> None:
    holes = (float("nan"), np.float64("nan"), b"x", Hole(), True, 3)
    contents = [({"role": role, "content": hole}, "'content'") for hole in holes for role in ("user", "assistant")]
    pairs = [(("tool", hole), "'content'") for hole in holes[:4]]
    cases = [*REFUSED, *contents, *pairs]
    assert not not_refused(lambda message: canonical([ASKED, message]), cases)
    numbered = [(message, "message 2 ") for message, _ in cases]
    assert not not_refused(lambda message: canonical([ASKED, message]), numbered)
