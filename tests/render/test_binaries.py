"""Values become plain JSON, and binary data a placeholder that tells one from another."""

from __future__ import annotations

import json
import re

from hypothesis import given

from calipers.render.binaries import plain_json, without_data_urls
from strategies import json_values

BASE64 = "QUJD" * 100


def _holds_long_base64(value: object) -> bool:
    return re.search(r"[A-Za-z0-9+/_=-]{256}", json.dumps(value)) is not None


@given(json_values().filter(lambda value: not _holds_long_base64(value)))
def test_json_data_is_left_as_it_is(value: object) -> None:
    elided: list[str] = []
    assert plain_json(value, elided) == value
    assert elided == []


def test_whatever_comes_back_is_json() -> None:
    odd = {1: (1.5, float("nan")), "o": object(), "b": b"\x00\x01", "deep": _nested(200)}
    elided: list[str] = []
    shown = json.dumps(plain_json(odd, elided), allow_nan=False)
    assert "[nested too deeply]" in shown  # a judge must not take it for an empty value
    assert any("2 bytes" in line for line in elided)
    assert any("nested deeper" in line for line in elided)


def test_base64_is_shown_as_its_size_and_hash_and_told() -> None:
    elided: list[str] = []
    first, second = plain_json([BASE64, "A" + BASE64], elided)
    assert BASE64 not in first
    assert "400 bytes" in first
    assert first != second
    assert len(elided) == 2


def test_a_data_url_inside_text_is_replaced_and_the_text_around_it_kept() -> None:
    elided: list[str] = []
    shown = without_data_urls(f'{{"shot": "data:image/png;base64,{BASE64}==", "ok": true}}', elided)
    assert BASE64 not in shown
    assert shown.startswith('{"shot": "[image/png, ')
    assert shown.endswith('", "ok": true}')
    assert len(elided) == 1


def test_short_base64_is_evidence() -> None:
    assert without_data_urls("data:text/plain;base64,QUJD", []) == "data:text/plain;base64,QUJD"
    assert plain_json("QUJD", []) == "QUJD"


def _nested(depth: int) -> object:
    value: object = 1
    for _ in range(depth):
        value = [value]
    return value
