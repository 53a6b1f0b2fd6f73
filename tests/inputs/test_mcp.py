from __future__ import annotations

from typing import Any

import pytest

from calipers.inputs import canonical

ERROR = {"role": "tool", "content": "boom", "is_error": True}
TEXT = {"type": "text", "text": "boom"}


@pytest.mark.parametrize(
    "message",
    [
        {"content": [TEXT], "isError": True},
        {"content": [TEXT], "is_error": True, "structured_content": None, "meta": None, "result_type": "complete"},
        {"role": "tool", "content": {"content": [TEXT], "isError": True, "_meta": {"x": 1}}},
        {"role": "tool", "content": [TEXT], "isError": True},
        {"role": "tool", "content": [TEXT], "isError": True, "structuredContent": {"result": "boom"}},
    ],
    ids=["bare", "python", "as-content", "spread", "told-twice"],
)
def test_every_form_of_the_same_error_is_the_same_message(message: dict[str, Any]) -> None:
    assert canonical([message]) == (ERROR,)


def test_structured_content_is_shown_unless_a_text_block_spells_it_out() -> None:
    def shown(texts: list[str], structured: Any) -> Any:
        blocks = [{"type": "text", "text": text} for text in texts]
        return canonical([{"content": blocks, "isError": False, "structuredContent": structured}])[0]["content"]

    assert shown(['{ "a": 1 }'], {"a": 1}) == '{ "a": 1 }'
    assert shown(["5"], {"result": 5}) == "5"
    assert shown([], {"a": 1}) == '{"a":1}'
    assert shown(["found one"], {"a": 1}) == [
        {"type": "text", "text": "found one"},
        {"type": "text", "text": '{"a":1}'},
    ]


def test_a_result_of_structured_content_alone_says_something() -> None:
    assert canonical([{"role": "tool", "tool_call_id": "c", "structuredContent": {"a": 1}}]) == (
        {"role": "tool", "content": '{"a":1}', "tool_call_id": "c"},
    )


def test_a_success_has_no_error_mark() -> None:
    assert canonical([{"role": "tool", "content": "ok", "isError": False}]) == ({"role": "tool", "content": "ok"},)


def test_real_mcp_results_read_like_their_wire_form() -> None:
    types = pytest.importorskip("mcp.types", reason="mcp is not installed: only its recorded forms are tested")
    result = types.CallToolResult(
        content=[
            types.TextContent(type="text", text='{"a": 1}'),
            types.ImageContent(type="image", data="AAAA", mimeType="image/png"),
            types.EmbeddedResource(
                type="resource",
                resource=types.TextResourceContents(uri="file:///a", text="body", mimeType="text/plain"),
            ),
        ],
        structuredContent={"a": 1},
        isError=True,
    )
    read = canonical([{"role": "tool", "tool_call_id": "c", "content": result}])
    assert read == canonical(
        [{"role": "tool", "tool_call_id": "c", "content": result.model_dump(by_alias=True, mode="json")}]
    )
    assert read[0]["is_error"] is True
    assert [part["type"] for part in read[0]["content"]] == ["text", "image_url", "text"]
