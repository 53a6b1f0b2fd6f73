"""Replies of megabytes, made short: what they say stays what it was, and what cannot be kept is no verdict."""

import json
from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calipers.replies import extract_scores
from calipers.replies import text as module
from calipers.replies.text import LIMIT, condense_reply
from effort import in_proportion

SCORES = '"scores": {"A": 90, "B": 20}'
SIZE = 15 * 2**20 // 4
"""Beyond what is kept whole; what is larger still takes longer and is the same."""
LONG = "It looks the order up. " * (SIZE // 23)

WELL_FORMED = {
    "explained after": f'{{{SCORES}, "explanations": {{"A": "{LONG}"}}}}',
    "explained before": f'{{"explanations": {{"A": "{LONG}"}}, {SCORES}}}',
    "escapes": f'{{"why": "{chr(92)}n{chr(92)}"{chr(92)}{chr(92)}' + r"\n\"\\" * (SIZE // 6) + f'", {SCORES}}}',
    "unicode escapes": '{"why": "' + r"\u0436\ud83d\udeeb" * (SIZE // 18) + f'", {SCORES}}}',
    "many notes": '{"notes": [""' + (', "' + LONG[:900] + '"') * (SIZE // 904) + f"], {SCORES}}}",
    "white space inside": "{" + " \n" * (SIZE // 2) + SCORES + "}",
    "white space behind": "{" + SCORES + "}" + " \n" * (SIZE // 2),
    "fenced": f'```json\n{{{SCORES}, "explanations": {{"A": "{LONG}"}}}}\n```',
    "after reasoning": f"<think>{LONG}</think>{{{SCORES}}}",
    "reasoning and a long verdict": f'<think>{LONG[:5000]}</think>{{"explanations": {{"A": "{LONG}"}}, {SCORES}}}',
    "behind prose": f"{LONG}\n{{{SCORES}}}",
    "wide": f'{{"explanations": {{"A": "\U0001f6eb{LONG[: SIZE // 4]}"}}, {SCORES}}}',
}


@pytest.mark.parametrize("how", WELL_FORMED)
def test_a_well_formed_verdict_of_megabytes_is_read(how: str) -> None:
    short = condense_reply(WELL_FORMED[how])
    assert len(short) <= LIMIT
    for text in (short, WELL_FORMED[how]):
        assert extract_scores(text, ["A", "B"], scale=(0, 100)).scores == {"A": 90, "B": 20}


NO_VERDICT = {
    "reasoning that never ends": f"<think>{LONG}{{{SCORES}}}",
    "reasoning that begins in the middle and never ends": f"{LONG[: SIZE // 2]}<think>{LONG[SIZE // 2 :]}{{{SCORES}}}",
    "a text that never ends": f'{{{SCORES}, "why": "{LONG}',
    "nothing but quotes": '"' * SIZE,
    "nothing but backslashes": '{"a": "' + "\\" * SIZE,
    "nothing but opened objects": '{"a":' * (SIZE // 5),
    "a verdict that long prose takes back": f"{{{SCORES}}}{LONG}",
    "millions of numbers": "{" + SCORES + ', "more": [' + "1," * (SIZE // 2) + "1]}",
}


@pytest.mark.parametrize("how", NO_VERDICT)
def test_what_is_no_verdict_stays_none(how: str) -> None:
    short = condense_reply(NO_VERDICT[how])
    assert len(short) <= LIMIT
    assert extract_scores(short, ["A", "B"], scale=(0, 100)).scores == {}


@pytest.mark.parametrize(
    "make",
    [
        lambda size: '{"a": "' + '\\"' * (size // 2),
        lambda size: '{"' * (size // 2),
        lambda size: "<think>" * (size // 7),
        lambda size: "{" + " \n" * (size // 2),
        lambda size: '{"a": "' + "\\u00" * (size // 5),
    ],
)
def test_it_takes_as_long_as_the_text_is(make: Callable[[int], str]) -> None:
    def shortened(size: int) -> Callable[[], object]:
        text = make(size)
        return lambda: condense_reply(text)

    in_proportion(shortened, 12 * LIMIT)


def test_a_reply_as_long_as_others_is_the_same_object() -> None:
    text = "x" * LIMIT
    assert condense_reply(text) is text


def test_no_text_is_cut_so_that_it_could_be_a_score() -> None:
    """What is left of a text is longer than any that says a number, or it says nothing."""
    texts = {f"id {number}": f"85 (of {number}) " + "because " * 200 for number in range(900)}
    short = json.loads(condense_reply(json.dumps({"scores": texts, "rest": "x" * 2 * LIMIT})))
    assert all(len(value) >= 1000 or value == "…" for value in short["scores"].values())
    assert extract_scores(json.dumps(short), list(texts), scale=(0, 100)).scores == {}


strings = st.text(max_size=400) | st.text(st.sampled_from('ab"\\\n 1é🛫\ud83d'), max_size=400)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | strings,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(strings, inner, max_size=4),
    max_leaves=12,
)


@settings(max_examples=60, deadline=None)
@given(values, st.booleans(), st.sampled_from([0, 61, 200, 1000]))
def test_a_documents_structure_and_short_texts_are_kept(value: Any, ascii_only: bool, kept: int) -> None:  # noqa: FBT001 - drawn
    text = json.dumps({"value": value}, ensure_ascii=ascii_only)
    short = module._with_short_texts(text, kept)
    assert short is not None
    _alike({"value": value}, json.loads(short), kept)


def _alike(whole: Any, short: Any, kept: int) -> None:
    if isinstance(whole, dict):
        assert len(whole) >= len(short)
        for (_, one), (_, other) in zip(whole.items(), short.items(), strict=False):
            if len(whole) == len(short):
                _alike(one, other, kept)
    elif isinstance(whole, list):
        assert len(whole) == len(short)
        for one, other in zip(whole, short, strict=True):
            _alike(one, other, kept)
    elif isinstance(whole, str) and whole != short:
        assert short.endswith("…")
        assert whole.startswith(short[:-1])
        assert len(json.dumps(whole)) > max(kept, 60)
    else:
        assert whole == short
