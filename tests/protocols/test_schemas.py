"""Schemas put together of ready pieces are what an encoder would have made of them."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.protocols.schemas import keyed, of_digits, of_scores, plain_text
from calipers.types.encoding import EncodedDict

KEYS = st.lists(st.text("BCDFGHJKLMNPQRSTVWXZ", min_size=2, max_size=4), min_size=1, max_size=9, unique=True)


@pytest.mark.parametrize("of", [of_scores, of_digits])
@given(KEYS)
def test_the_text_is_the_schema(of: Callable[[Sequence[str]], EncodedDict], keys: list[str]) -> None:
    schema = of(keys)
    assert schema.text == json.dumps(schema, separators=(",", ":"))
    assert schema["properties"]["scores"]["required"] == keys


def test_digits_go_from_0_to_9_and_scores_to_100() -> None:
    tops = [of(["BC"])["properties"]["scores"]["properties"]["BC"]["maximum"] for of in (of_digits, of_scores)]
    assert tops == [9, 100]


def test_exactly_the_properties_named_are_allowed() -> None:
    schema = keyed({"a": plain_text(3)})
    assert (schema["required"], schema["additionalProperties"]) == (["a"], False)


@pytest.mark.parametrize(
    ("text", "plain"), [("abc", True), ("abcd", False), ("é", True), ("a\nb", False), ('"', False)]
)
def test_plain_text_is_one_short_line_without_quotes(text: str, *, plain: bool) -> None:
    assert (re.fullmatch(plain_text(3)["pattern"], text) is not None) is plain
