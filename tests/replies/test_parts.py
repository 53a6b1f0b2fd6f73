"""The parts of reading, each at its limits: numbers, scales, names, the judge's turn, words around, documents."""

from __future__ import annotations

import math
from typing import Any

from calipers.replies.documents import Pairs, find_documents, nodes_in_reply, parse_strict_json, unescaped
from calipers.replies.names import Names
from calipers.replies.numbers import Scale, Value, read_value, why_off_scale
from calipers.replies.proposed import proposed_criteria
from calipers.replies.text import (
    LIMIT,
    TOLERANT_LIMIT,
    condense_reply,
    is_headed,
    is_introduction,
    is_text_after,
    is_text_before,
    judges_turn,
    strip_fence,
)

HUNDRED, UNIT, FIVE = (0, 100), (0, 1), (1, 5)


def test_a_score_is_a_number_on_the_scale_that_it_states():
    """With the scale 1-5 a 0/10 is the lowest score. What is off the scale that it states is off any: high + width."""
    cases: list[tuple[Any, Scale, float | None, float | None]] = [
        (90, HUNDRED, None, 90), ("90/100", HUNDRED, None, 90), ("9/10", HUNDRED, None, 90),
        ("9 out of 10", HUNDRED, None, 90), ("3/5", FIVE, None, 3), ("0/10", FIVE, None, 1), ("45 %", UNIT, None, 0.45),
        ("45%", HUNDRED, None, 45), ("0%", HUNDRED, None, 0), ("1%", HUNDRED, None, 1), ("0.5%", HUNDRED, None, None),
        ("1,5", HUNDRED, None, 1.5), ("1,50", HUNDRED, None, 1.5), ("1,500", HUNDRED, None, None),
        ("007", HUNDRED, None, None), ("0.7", UNIT, None, 0.7), ("−5", HUNDRED, None, -5), ("+5", HUNDRED, None, 5),
        (".5", UNIT, None, 0.5), ("８", HUNDRED, None, 8), ("**8**", HUNDRED, None, 8), ("1e2", HUNDRED, None, 100),
        ("8/0", HUNDRED, None, None), ("10/10", HUNDRED, None, 100), ("11/10", HUNDRED, None, 200), (11, UNIT, 10, 2),
        (-1, HUNDRED, 10, 200), (8, HUNDRED, 10, 80), (8, HUNDRED, 100, 8), ("8/10", HUNDRED, 5, 80),
        (8, HUNDRED, 0, None), (1e6, HUNDRED, None, 1e6), (1000001, HUNDRED, None, None),
        (math.inf, HUNDRED, None, None), (math.nan, HUNDRED, None, None), (True, HUNDRED, None, None),
        (1 + 5e-7, UNIT, None, 1), (1 + 2e-6, UNIT, None, 1 + 2e-6), (-5e-7, UNIT, None, 0), (-2e-6, UNIT, None, -2e-6),
        ([], UNIT, None, None),
    ]  # fmt: skip
    found = [(raw, scale, top, read_value(raw, scale, top)) for raw, scale, top, _ in cases]
    assert [
        (one, case[-1])
        for one, case in zip(found, cases, strict=True)
        if (one[-1].number if isinstance(one[-1], Value) else None) != case[-1]
    ] == []


def test_scores_together_show_another_scale():
    cases: list[tuple[list[tuple[float, float | None]], Scale, bool]] = [
        ([(0, None), (0, None)], HUNDRED, False), ([(10, None), (3, None)], HUNDRED, True),
        ([(10.5, None), (3, None)], HUNDRED, False), ([(11, None), (0.5, None)], HUNDRED, True),
        ([(11, None), (1, None)], HUNDRED, False), ([(1, None), (0.5, None)], (0, 10), True),
        ([(1.5, None), (0.5, None)], (0, 10), False), ([(1, None), (1, None)], (0, 10), False),
        ([(1, None), (0.5, None)], (0, 9), False), ([(100, None), (50, None)], HUNDRED, False),
        ([(100.1, None), (50, None)], HUNDRED, True), ([(-0.1, None), (50, None)], HUNDRED, True),
        ([(90, 10), (6, None)], HUNDRED, True), ([(90, 10), (10, None), (50, None)], HUNDRED, True),
        ([(90, 10), (11, None)], HUNDRED, True), ([(90, 10), (0, None)], HUNDRED, False),
        ([(90, 100), (60, None)], HUNDRED, False), ([(6, 100)], HUNDRED, False), ([(5, 50), (4, 50)], HUNDRED, False),
        ([(9, None), (1, None)], (0, 99), False), ([(20, None), (5, None)], (0, 200), True),
    ]  # fmt: skip
    found = [why_off_scale({str(n): Value(*one) for n, one in enumerate(values)}, scale) for values, scale, _ in cases]
    assert [(case, why) for case, why in zip(cases, found, strict=True) if (why is not None) is not case[-1]] == []


def test_a_name_is_an_id_whatever_stands_around_it():
    names = Names(["1", "2", "10", "KB", "a b"])
    cases: dict[object, str | None] = {
        "1": "1", 2: "2", 10.0: "10", 1.5: None, None: None, (1,): None, "01": "1", "#2": "2", "Trajectory 1": "1",
        'trajectory id="1"': "1", "attempt10": "10", "Response Answer 2": "2", "no. 2": "2", "item 3": None, "": None,
        " ": None, "0": None, "(kb)": "KB", "A_B": "a b", "a  b": "a b", "x" * 300: None,
    }  # fmt: skip
    assert {name: names.match(name) for name in cases} == cases
    assert names.match(True) is None
    cased, padded = Names(["a", "A"]), Names(["1", "01"])
    assert [cased.match(name) for name in ("a", "A", "(a)")] == ["a", "A", None]
    assert [padded.match(name) for name in ("1", "01", "001")] == ["1", "01", None]
    assert Names(["output 1", "output 2"]).match("2.") == "output 2"


def test_the_judges_turn_is_its_first_without_reasoning():
    cases = {
        "a</s>b": "a", "</s>b": "b", "  \n</s>b<eos>c": "  \nb", "<think>x</think>a": "a", "x</think>a": "a",
        "<think>x": None, "a<think>x": None, "a<think>x</think>b<think>y</think>c": "abc", "x</think>y</think>a": "a",
        "`</s>`b": "`</s>`b", "a `</s>": "a `", '"</s>"': '"</s>"', 'a "</s>"': 'a "</s>"', "</s>`b": "`b",
        '{"a": "x </s> y"}</s>z': '{"a": "x </s> y"}', '{"a": "<think>"}': '{"a": "<think>"}',
        "analysisWhat? assistantfinalYes": "Yes", "analysisWhat?": None, "analysis of it: a": "analysis of it: a",
        "assistant: a": "a", "<|channel|>analysis<|message|>x<|end|><|channel|>final<|message|>y<|return|>z": "y",
        "<|channel|>analysis<|message|>x": None, '{"a": "<|channel|>"}': '{"a": "<|channel|>"}',
        "a\nassistant\nb": "a\n", "[INST]x[/INST]a": "x", "</s></s>a": "a",
        "<|begin_of_box|>a<|end_of_box|>": "<|begin_of_box|>a<|end_of_box|>",
        '{"a": 1} `</s>` {"b": "</s>"}</s>x': '{"a": 1} `</s>` {"b": "</s>"}',
    }  # fmt: skip
    assert {text: judges_turn(text) for text in cases} == cases
    filler = "x" * (4 * TOLERANT_LIMIT - len("</think>"))
    assert judges_turn("a</think>" + filler) == filler
    assert judges_turn("</think>" + filler + "x") == "/think>" + filler + "x"  # the mark is cut, so it is none
    whole, longer = "x" * LIMIT, "x" * (LIMIT + 1)
    assert condense_reply(whole) == whole
    assert condense_reply(longer).endswith("\n" + "x" * (2 * TOLERANT_LIMIT))
    assert f" {LIMIT + 1 - 2 * TOLERANT_LIMIT:,} " in condense_reply(longer)


def test_fences_and_introductions_are_no_words():
    fences = {
        "```json\n1\n```": "1", "~~~\n1\n~~~": "1", "```[1]```": "[1]", "```\n1": "1", "````\n```\n````": "```",
        " 1 ": "1", "``1``": "``1``", "```a\n1\n```\n2\n```": "```a\n1\n```\n2\n```", "```1```": "```1```",
    }  # fmt: skip
    assert {text: strip_fence(text) for text in fences} == fences
    introductions = {
        "Here are the scores:": True, "My verdict：": True, "**Scores:**": True, "Here is my evaluation:": True,
        "My final overall verdict:": True, "Scores for each attempt:": True,
        "Here are the 2 scores:": False, "Scores for KB:": False, "Scores": False,
        "Not the scores:": False, "These scores are wrong:": False, "Answers:": False, "Errors:": False, "": False,
        "my final overall your scores:": False,
    }  # fmt: skip
    assert {line: is_introduction(line) for line in introductions} == introductions
    headed = {"Errors:": True, '"answers":': True, "x\nMine:\n```json\n": True, "Scores:": False, "x": False, "": False}
    assert {text: is_headed(text) for text in headed} == headed
    before = {
        "": False, "\n\n": False, "```json\n": False, "json": False, "Here are the scores:\n": False,
        "Scores:\nMine:\n": True, "x": True, "<answer>": False, "Scores:\n```json\n": False, "KB scores:": True,
        "---\n": False,
    }  # fmt: skip
    assert {text: is_text_before(text) for text in before} == before
    after = {
        "": False, "\n```": False, "}]": False, "</answer>": False, "x": True, "```\n```json": True,
        "```\n\n```x": True, "~~~y": True, ".": True, "\n---\n": False, "<|end_of_box|>": False,
    }  # fmt: skip
    assert {text: is_text_after(text) for text in after} == after


def plain(node: Any) -> Any:
    """Repaired objects as lists of their pairs."""
    if isinstance(node, Pairs):
        return [(key, plain(value)) for key, value in node]
    return [plain(one) for one in node] if isinstance(node, list) else node


def test_usual_slips_are_repaired_and_anything_else_breaks_a_document():
    a, broken = [("a", 1)], "broken"
    cases: dict[str, Any] = {
        "{'a': 1}": a, '{"a": 1,}': a, '{"a"= 1}': a, '{"a" => 1}': a, '{"a": /* c */ 1}': a, '{"a": 1 // c\n}': a,
        '{"a": 1 # c\n}': a, "{a: 1}": a, '{"a": 1 "b": 2}': [*a, ("b", 2)], '{"a": 1;"b": 2}': [*a, ("b", 2)],
        '{"a": 1, "a": 2}': [*a, ("a", 2)], "{“a”: “b”}": [("a", "b")],
        "{a: None, b: False, c: TRUE}": [("a", None), ("b", False), ("c", True)], '{"a": x y}': [("a", "x y")],
        '{"a": "b\\"c",}': [("a", 'b"c')], '{"a": "say "x" now", "b": 2}': [("a", 'say "x" now'), ("b", 2)],
        '{"a": "x {" y", "b": 1}': broken, '{"a": "\\q",}': [("a", "\\q")],
        '{"a": [1, {"b": 2,}],}': [("a", [1, [("b", 2)]])], "[[1,2],[3,4],]": [[1, 2], [3, 4]], "[.5, 1]": [".5", 1],
        "{'a': 'it\"s'}": [("a", 'it"s')], '{"a": 1]': broken, '{"a": [1, 2}': broken, '{"x\ny": 1,}': broken,
        "[1, }": broken, '{"a": 123456789012345678,}': [("a", 123456789012345678)], "{1: 2}": [("1", 2)],
    }  # fmt: skip
    documents = {text: find_documents(text)[0] for text in cases}
    assert {text: broken if one.node is None else plain(one.node) for text, one in documents.items()} == cases
    assert [text for text, one in documents.items() if one.cut or one.end != len(text)] == []
    strict: dict[str, list[tuple[int, int]]] = {
        'x {"a": 1} y {"b": 2}': [(2, 10), (13, 21)], "{}": [(0, 2)], "[{}]": [(0, 4)], "[1]": [], "[]x": [],
        '{"a": 1}}': [(0, 8)], "[-1, 2]": [(0, 7)],
    }  # fmt: skip
    found = {text: find_documents(text) for text in strict}
    assert {text: [(one.start, one.end) for one in there] for text, there in found.items()} == strict
    assert all(one.strict for there in found.values() for one in there)
    ends: dict[str, Any] = {
        '{"a": ': [], '{"a"': [], '{"a": tr': [], '{"a": true': [], '{"a": 1,': a, '{"a": "x': [], "[1, 2": [1],
        "[[]": [[]], '{"a": 1, "b": [2, 3': [*a, ("b", [2])], '{"a": {"b": 1, ': [("a", [("b", 1)])], '{"a" 1}': [],
        '{"a": "b", c": 1}': [],
    }  # fmt: skip
    for text, node in ends.items():
        (one,) = find_documents(text)
        assert (plain(one.node), one.cut, one.strict) == (node, True, False), text


def test_documents_are_bounded_in_depth_number_and_size():
    def nested(depth: int) -> Any:
        return find_documents("[" * depth + "1,{}" + "]" * depth + ",")[0].node

    def damaged(depth: int) -> Any:
        return find_documents("[" * depth + "1,{'a': 1}" + "]" * depth)[0].node

    assert nested(60) is not None
    assert [damaged(depth) is None for depth in (39, 40)] == [False, True]
    assert len(find_documents('{"a": 1} ' * 250)) == 200
    assert find_documents('{"a": 123456789012345678901}')[0].node == {"a": 123456789012345678901.0}
    brackets, commas = "[" + "[]," * 19_998 + "[]]", "[" + "1," * 60_000 + "1]"
    assert parse_strict_json(brackets) is not None
    assert parse_strict_json(brackets.replace("[[]", "[[],[]", 1)) is None
    assert parse_strict_json(commas) is not None
    assert parse_strict_json(commas.replace("1", "1,1", 1)) is None
    assert unescaped('{\\"a\\": \\"x\\ny\\"}') == '{"a": "x\ny"}'
    assert [unescaped(text) for text in ('{\\"a\\": "x"}', '{&quot;a": 1}')] == ['{\\"a\\": "x"}', '{&quot;a": 1}']
    assert unescaped("{&quot;a&quot;: 1}") == '{"a": 1}'
    assert nodes_in_reply('x {"a": 1} {"b": 2} {c') == [{"a": 1}, {"b": 2}]
    assert [nodes_in_reply(text) for text in ("[1, 2]", "<think>", "7", '```\n{"a": 1}\n```')] == [
        [[1, 2]],
        [],
        [7],
        [{"a": 1}],
    ]


def test_proposed_criteria_have_points_within_ten_and_stand_at_most_four_deep():
    cases = {
        '"points": 10': [10.0], '"points": -10': [-10.0], '"points": 10.1': [], '"points": 0': [], '"points": "5"': [],
        '"points": true': [], '"weight": 2': [2.0], '"points": 3, "weight": 2': [3.0],
    }  # fmt: skip
    found = {fields: [one.points for one in proposed_criteria(f'{{"text": "Is.", {fields}}}')] for fields in cases}
    assert found == cases
    one = '{"text": "Is\\n 42.", "points": 1, "veto": 1}'
    both = proposed_criteria(f'Here:\n{{"criteria": [{one}, {one.replace("1}", "true}")}, {{"points": 2}}]}}')
    assert [(entry.text, entry.veto) for entry in both] == [("Is 42.", False), ("Is 42.", True)]
    deep = ['{"a": ' * depth + one + "}" * depth for depth in (4, 5)]
    assert [len(proposed_criteria(text)) for text in deep] == [1, 0]
    assert len(proposed_criteria("[" + ", ".join([one] * 201) + "]")) == 200
