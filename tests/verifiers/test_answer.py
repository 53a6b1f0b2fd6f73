"""What a check takes for the answer, the checks of its text, its words, a number and JSON, and those of tool calls."""

import json
import sys
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from answers import answered, told
from calipers.errors import ConfigError
from calipers.types import Trajectory
from calipers.verifiers import Exact, JsonSchema, Numeric, Regex, ToolCalled, ToolOutcome, WordCount
from calipers.verifiers.answer import final_answer, last_code_block

LINUX = sys.platform == "linux"


def test_reasoning_is_left_out_and_an_open_one_is_no_answer() -> None:
    answers = {
        "plain": "plain", "<think>so</think>\n42 ": "42", "<think>a</think>b<think>c</think>d": "d", "": "",
        "so</think> 42": "42", "<think>never ends": None, "<think>a</think>b<think>c": None, "  kept  ": "  kept  ",
    }  # fmt: skip
    assert {text: final_answer(answered(text)) for text in answers} == answers


def test_the_last_assistant_message_counts() -> None:
    parts = [{"type": "text", "text": "4"}, {"type": "image_url", "image_url": {}}, {"type": "text", "text": "2"}]
    found: list[tuple[list[Any], str | None]] = [
        ([told("assistant", "one"), told("user", "and?"), told("assistant", "two")], "two"),
        ([told("user", "only")], None),
        ([], None),
        ([{"role": "assistant", "content": None}], None),
        ([{"role": "assistant", "content": parts}], "42"),
    ]
    assert [final_answer(Trajectory("a", tuple(messages))) for messages, _ in found] == [text for _, text in found]


def test_the_last_block_of_the_language_is_taken() -> None:
    text = "a\n```python\none\n```\nb\n```json\n{}\n```\n"
    assert last_code_block(text, ("python",)) == "one\n"
    assert last_code_block(text, ("json",)) == last_code_block(text) == last_code_block(text, ("rust",)) == "{}\n"
    assert last_code_block("no block ``` here") is None


CASES: list[tuple[Any, str | None, bool | None]] = [
    (Exact("Paris"), " Paris\n", True),
    (Exact("Paris"), "paris", False),
    (Exact("Straße", ignore_case=True), "STRASSE", True),
    (Exact(("a", "b")), "b", True),
    (Exact("Paris"), "<think>London</think>Paris", True),
    (Exact("Paris"), "<think>Paris", None),
    (Exact("Paris"), None, None),
    (WordCount(2, 3), "one", False),
    (WordCount(2, 3), "don't stop,\nplease", True),
    (WordCount(2, 3), "a b c d", False),
    (WordCount(None, 1), "", True),
    (WordCount(2, None), "<think>a b c</think>one", False),
    (Numeric(42), "First 41, then 42", True),
    (Numeric(42), "42 or 41", False),
    (Numeric(1234.5), "That makes 1,234.50 euros", True),
    (Numeric(-3), "It is −3", True),
    (Numeric(50), "50%", True),
    (Numeric(0.1), ".1", True),
    (Numeric(1e-3), "1e-3", True),
    (Numeric(42), "no idea", False),
    (Numeric(2), "version 1.2.3", False),
    (Numeric(0), "1e9999", False),
    (Numeric(5), "9" * 5000, False),
    (Numeric(42, after="####"), "#### 41\n#### 42, up from 7", True),  # the first number after the last mark
    (Numeric(42, after="####"), "#### 7, not 42", False),
    (Numeric(42, after="####"), "42 ####", False),
    (Numeric(42, after="####"), "42", False),
    *((Numeric(10, tolerance=tolerance, relative=relative), text, met)
      for tolerance, relative in ((0.5, 0), (0, 0.05), (0.5, 0.01))
      for text, met in (("10.5", True), ("9.5", True), ("10.500001", False), ("9.499999", False))),
]  # fmt: skip
SEARCHES: list[tuple[str, Any, str | None, bool | None]] = [
    (r"\b42\b", {}, "it is 42.", True), (r"\b42\b", {}, "142", False), ("x", {}, None, None),
    ("YES", {"ignore_case": True}, "yes", True), ("yes", {"whole": True}, "yes, of course", False),
    ("y.s", {"whole": True}, "yes", True),
]  # fmt: skip


def test_each_check_gives_its_verdict() -> None:
    searches = [(Regex(pattern, **options, confined=confined), text, met)
                for confined in {False, LINUX} for pattern, options, text, met in SEARCHES]  # fmt: skip
    wrong = [(check, text, met) for check, text, met in [*CASES, *searches] if check(answered(text)).met is not met]
    assert wrong == []


@given(st.decimals(allow_nan=False, allow_infinity=False, min_value=-(10**12), max_value=10**12, places=6), st.text())
def test_a_number_equals_itself_however_it_is_written_and_any_text_is_a_verdict(number: int, text: str) -> None:
    check = Numeric(float(number), relative=1e-12)
    assert check(answered(f"So: {number}")).met
    assert check(answered(f"So: {number:,} in all")).met
    assert check(answered(text)).met in {True, False, None}


@pytest.mark.skipif(not LINUX, reason="the sandbox confines code on Linux only")
def test_a_search_that_does_not_end_is_no_verdict() -> None:
    found = Regex("(a+)+$")(answered("a" * 60 + "b"))
    assert found.met is None
    assert "CPU" in found.reason


MISTAKES: list[tuple[Any, dict[str, Any], str]] = [
    (Exact, {"expected": ""}, "must be text"),
    *((WordCount, {"at_least": least, "at_most": most}, "whole numbers")
      for least, most in ((None, None), (3, 2), (-1, None), (True, None), ("3", None), (None, 2.5))),
    *((Numeric, {"expected": 1, **wrong}, "number|negative")
      for wrong in ({"expected": float("nan")}, {"expected": "42"}, {"tolerance": -1}, {"expected": True})),
    (ToolCalled, {"name": "book", "times": -1}, "times=-1"),
]  # fmt: skip


def test_settings_that_cannot_be_are_refused() -> None:
    for make, wrong, words in MISTAKES:
        with pytest.raises(ConfigError, match=words):
            make(**wrong)


SCHEMA = {
    "type": "object",
    "required": ["name"],
    "properties": {"name": {"type": "string"}, "age": {"type": "integer", "minimum": 0}},
}


def test_an_answer_follows_a_json_schema_or_not_and_nothing_is_fetched() -> None:
    pytest.importorskip("jsonschema", reason="jsonschema is not installed: pip install 'calipers[verifiers]'")
    elsewhere = {"$ref": "http://127.0.0.1:9/schema.json"}
    cases: list[tuple[Any, str | None, bool | None, str]] = [
        (SCHEMA, '{"name": "a", "age": 3}', True, ""), (SCHEMA, 'Sure:\n```json\n{"name": "a"}\n```', True, ""),
        (SCHEMA, '{"age": 3}', False, "name"), (SCHEMA, '{"name": "a", "age": -1}', False, "$.age"),
        (SCHEMA, '{"name": "a", "age": NaN}', False, "NaN is not JSON"), (SCHEMA, "[" * 100_000, False, "not JSON"),
        (SCHEMA, "<think>{}", None, "no answer"), (elsewhere, "{}", None, "refers to"),
    ]  # fmt: skip
    for schema, answer, met, reason in cases:
        found = JsonSchema(schema)(answered(answer))
        assert found.met is met, found
        assert reason in found.reason
    with pytest.raises(ConfigError, match=r"not a JSON schema.*\$\.type"):
        JsonSchema({"type": "text"})


def test_without_jsonschema_the_remedy_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "jsonschema", None)
    with pytest.raises(ConfigError, match=r"pip install 'calipers\[verifiers\]'"):
        JsonSchema(SCHEMA)


# --- tools


def call(name: str, call_id: Any = None, **arguments: Any) -> Any:
    made = {"type": "function", "function": {"name": name, "arguments": json.dumps(arguments)}}
    return {"role": "assistant", "content": None, "tool_calls": [made if call_id is None else made | {"id": call_id}]}


def result(text: str, call_id: Any = None) -> Any:
    return {"role": "tool", "content": text} | ({} if call_id is None else {"tool_call_id": call_id})


BOOKED = Trajectory("a", (
    call("search", "1", city="Rome"), result("3 flights", "1"), call("book", "2", flight=7, seat="A1"),
    result("ERROR: full", "2"),
    call("book", "3", flight=8, seat="B1"), result("Booked: 8", "3"),
))  # fmt: skip
UNNAMED = Trajectory("b", (call("search"), result("none"), call("book", flight=1), result("Booked: 1")))
CUT = Trajectory("c", (call("book", "9", flight=7),))
BROKEN = Trajectory("d", ({"role": "assistant", "tool_calls": [
    {"function": {"name": "book", "arguments": "{flight: 7"}}]},))  # fmt: skip


def test_calls_are_counted_and_results_belong_to_their_calls() -> None:
    cases: list[tuple[Any, Trajectory, bool | None]] = [
        (ToolCalled("book"), BOOKED, True), (ToolCalled("cancel"), BOOKED, False),
        (ToolCalled("cancel", times=0), BOOKED, True), (ToolCalled("book", times=0), BOOKED, False),
        (ToolCalled("book", {"flight": 8}), BOOKED, True), (ToolCalled("book", {"flight": 9}), BOOKED, False),
        (ToolCalled("book", times=2), BOOKED, True), (ToolCalled("book", times=3), BOOKED, False),
        (ToolCalled("book", {"meal": None}), BOOKED, False),
        (ToolCalled("book"), BROKEN, True), (ToolCalled("book", {"flight": 7}), BROKEN, False),
        (ToolOutcome("book", "Booked"), BOOKED, True), (ToolOutcome("book", "ERROR"), BOOKED, False),
        (ToolOutcome("pay", "ok"), BOOKED, False), (ToolOutcome("book", "Booked"), UNNAMED, True),
        (ToolOutcome("search", "Booked"), UNNAMED, False), (ToolOutcome("book", "Booked"), CUT, None),
    ]  # fmt: skip
    assert [(check, one.id) for check, one, met in cases if check(one).met is not met] == []
