"""Schemas put together of encoded pieces are what an encoder would have made of them."""

from __future__ import annotations

import json
import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.protocols.expected import ExpectedListwise
from calipers.protocols.question import ScoreProtocol, object_schema, plain_text_schema, score_schema, system_message
from calipers.protocols.scores import Listwise
from calipers.types.encoding import EncodedDict, to_json

KEYS = st.lists(st.text("BCDFGHJKLMNPQRSTVWXZ", min_size=2, max_size=4), min_size=1, max_size=9, unique=True)


@given(KEYS, KEYS, st.integers(1, 100))
def test_the_text_is_the_schema(explained: list[str], keys: list[str], top: int) -> None:
    schema = score_schema(explained, keys, top)
    assert schema.text == json.dumps(schema, separators=(",", ":"))
    assert schema["properties"]["scores"]["required"] == keys
    assert list(schema["properties"]) == ["explanations", "scores"]
    assert list(score_schema((), keys, top)["properties"]) == ["scores"]


@pytest.mark.parametrize(("protocol", "top"), [(Listwise, 100), (ExpectedListwise, 9)])
def test_digits_go_from_0_to_9_and_scores_to_100(protocol: type[ScoreProtocol], top: int) -> None:
    schema = score_schema((), ["BC"], protocol.top)
    assert schema["properties"]["scores"]["properties"]["BC"]["maximum"] == top


def test_exactly_the_properties_named_are_allowed() -> None:
    schema = object_schema({"a": plain_text_schema(3)})
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)


@pytest.mark.parametrize(
    ("text", "plain"), [("abc", True), ("abcd", False), ("é", True), ("a\nb", False), ('"', False)]
)
def test_plain_text_is_one_short_line_without_quotes(text: str, *, plain: bool) -> None:
    assert (re.fullmatch(plain_text_schema(3)["pattern"], text) is not None) is plain


@pytest.mark.parametrize(("rubric", "is_encoded"), [("Be kind.", True), ("Sei höflich. 🙂", False)])
def test_only_an_ascii_system_message_is_encoded_in_advance(rubric: str, *, is_encoded: bool) -> None:
    """Beside other text, orjson writes it unescaped: a message encoded in advance would be sent in another form."""
    message = system_message("Judge.", rubric, "Score all.", "Answer in JSON.")
    assert isinstance(message, EncodedDict) is is_encoded
    assert to_json({"messages": [message]}) == to_json({"messages": [dict(message)]})
