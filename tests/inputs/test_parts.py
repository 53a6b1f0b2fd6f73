from __future__ import annotations

from typing import Any

import pytest

from calipers.errors import InputError
from calipers.inputs.parts import content_parts, joined_block_text

IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}},
        {"type": "image_url", "image_url": "data:image/png;base64,AAAA"},
        {"type": "input_image", "image_url": "data:image/png;base64,AAAA"},
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}},
        {"type": "image", "source_type": "base64", "mime_type": "image/png", "data": "AAAA"},
        {"type": "image", "base64": "AAAA", "mime_type": "image/png"},
        {"type": "image", "data": "AAAA", "mimeType": "image/png", "annotations": None},
        {"type": "image", "data": "AAAA"},
        {"type": "image", "image": "data:image/png;base64,AAAA"},
        {"type": "resource", "resource": {"uri": "file:///a", "blob": "AAAA", "mimeType": "image/png"}},
    ],
    ids=["chat", "chat-text", "responses", "anthropic", "lc-v0", "lc-v1", "mcp", "no-mime", "qwen", "mcp-resource"],
)
def test_every_form_of_the_same_image_is_the_same_part(block: dict[str, Any]) -> None:
    assert content_parts(block) == [IMAGE]


@pytest.mark.parametrize(
    "block",
    [
        {"type": "image", "source": {"type": "url", "url": "https://a/b.png"}},
        {"type": "image", "source_type": "url", "url": "https://a/b.png"},
        {"type": "image", "url": "https://a/b.png"},
    ],
)
def test_linked_images_keep_their_link(block: dict[str, Any]) -> None:
    assert content_parts(block) == [{"type": "image_url", "image_url": {"url": "https://a/b.png"}}]


def test_detail_is_kept_wherever_it_stands() -> None:
    expected = [{"type": "image_url", "image_url": {"url": "u", "detail": "low"}}]
    assert content_parts({"type": "input_image", "image_url": "u", "detail": "low"}) == expected
    assert content_parts({"type": "image_url", "image_url": {"url": "u", "detail": "low"}}) == expected


def test_an_image_by_file_id_is_a_file_and_one_without_anything_is_refused() -> None:
    assert content_parts({"type": "image", "source": {"type": "file", "file_id": "f1"}}) == [
        {"type": "file", "file": {"file_id": "f1"}}
    ]
    with pytest.raises(InputError, match="needs a URL or base64 data"):
        content_parts({"type": "image_url", "image_url": {"url": None}})


def test_text_of_every_api_is_text_and_its_citations_stay() -> None:
    cited = [{"url": "u"}]
    assert content_parts("a") == content_parts({"type": "input_text", "text": "a"}) == [{"type": "text", "text": "a"}]
    assert content_parts({"type": "output_text", "text": "a", "annotations": [], "logprobs": [1]}) == content_parts("a")
    assert content_parts({"type": "text", "text": "a", "citations": cited, "cache_control": {"type": "ephemeral"}}) == [
        {"type": "text", "text": "a", "citations": cited}
    ]


def test_documents_are_text_where_they_hold_text_and_files_elsewhere() -> None:
    assert content_parts({"type": "document", "source": {"type": "text", "data": "body"}}) == content_parts("body")
    assert content_parts(
        {"type": "document", "source": {"type": "content", "content": [{"type": "text", "text": "x"}, "y"]}}
    ) == [
        *content_parts("x"),
        *content_parts("y"),
    ]
    pdf = {
        "type": "document",
        "title": "t.pdf",
        "source": {"type": "base64", "media_type": "application/pdf", "data": "JV"},
    }
    assert content_parts(pdf) == [
        {"type": "file", "file": {"filename": "t.pdf", "file_data": "data:application/pdf;base64,JV"}}
    ]
    assert content_parts({"type": "input_file", "file_url": "https://a/b.pdf"}) == [
        {"type": "file", "file": {"file_url": "https://a/b.pdf"}}
    ]
    assert content_parts({"type": "file", "file": {"file_id": "f", "filename": None}}) == [
        {"type": "file", "file": {"file_id": "f"}}
    ]


def test_audio_data_is_an_audio_part() -> None:
    expected = [{"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}}]
    assert content_parts({"type": "audio", "data": "AAAA", "mimeType": "audio/wav"}) == expected
    assert content_parts(expected[0]) == expected
    assert content_parts({"type": "audio", "data": "AAAA"}) == expected
    assert content_parts({"type": "audio", "data": "AAAA", "mimeType": "wav"}) == expected


def test_a_text_resource_is_text_with_its_address() -> None:
    block = {"type": "resource", "resource": {"uri": "file:///a", "text": "body", "mimeType": "text/plain"}}
    assert content_parts(block) == [{"type": "text", "text": "body", "uri": "file:///a"}]


def test_kinds_not_known_are_kept_without_their_ciphertext() -> None:
    block = {"type": "web_search_result", "url": "u", "encrypted_content": "zz", "page_age": None}
    assert content_parts(block) == [{"type": "web_search_result", "url": "u"}]


@pytest.mark.parametrize("block", [5, None, {}, {"type": 3}, {"type": "text"}, {"type": "text", "text": None}])
def test_what_is_no_part_is_refused_with_the_reason(block: Any) -> None:
    with pytest.raises(InputError, match=r"content part must be text|needs its 'text'"):
        content_parts(block)


def test_reasoning_text_is_found_in_every_nesting() -> None:
    assert joined_block_text({"type": "thinking", "thinking": "a", "signature": "s"}) == "a"
    assert joined_block_text([{"type": "reasoning.text", "text": "a"}, {"summary": [{"text": "b"}]}]) == "a\n\nb"
    assert joined_block_text({"type": "redacted_thinking", "data": "zz"}) == joined_block_text(None) == ""
