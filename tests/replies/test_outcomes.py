"""What comes along with what is read: outcome, doubt, values kept for the next reply, margins; and what is missing."""

from __future__ import annotations

import json
from typing import Any

from calipers.replies import extract_checklist, extract_choice, extract_ranking, extract_scores, extract_verdict

IDS = ("KB", "BC")
OWN = '{"KB": 90, "BC": 10}'
READ = {"KB": 90.0, "BC": 10.0}
HALF = {"KB": 90.0}


def kind_of(reading: Any) -> str:
    """The outcome, and of a rejected reply: whether it is in doubt, was cut off, and has values that are kept."""
    flags = [name for name in ("doubt", "truncated") if getattr(reading, name)] + ["kept"] * bool(reading.doubted)
    return " ".join([reading.outcome, *flags]).removeprefix("rejected ")


def test_scores_come_with_their_outcome_and_those_of_a_whole_verdict_are_kept():
    said = '{"scores": {"KB": 90, "BC": 10}, "explanations": {"KB": "%s", "BC": "b"}}'
    beside = '{"scores": {"KB": 90, "BC": 10}, %s}'
    rows = '{"KB": {"score": 90, %s}, "BC": {"score": 11}}'
    cases: dict[str, tuple[str, dict[str, float]]] = {
        OWN: ("strict", READ), "{'KB': 90, 'BC': 10}": ("repaired", READ), "KB: 90\nBC: 10\n": ("text", READ),
        '{"scores": {"KB": 90}}': ("partial", HALF), '{"KB": 90, "BC": "high"}': ("partial", HALF),
        "KB: 90\nBC: 1": ("partial", HALF), "KB: 90\n": ("partial", HALF), "Sure! " + OWN: ("doubt kept", READ),
        'Sure! {"KB": 90}': ("doubt", {}), '{"KB": 7, "BC": 10}': ("doubt kept", {"KB": 7.0, "BC": 10.0}),
        '{"KB": 7.5, "BC": 9}': ("doubt", {}), '{"KB": 7}': ("doubt", {}), '{"KB": 120, "BC": 10}': ("doubt", {}),
        '{"KB": 0, "BC": 10}': ("doubt kept", {"KB": 0.0, "BC": 10.0}), '{"KB": -1, "BC": 10}': ("doubt", {}),
        said % "...": ("doubt", {}), said % "<reason here>": ("doubt", {}), said % "<": ("strict", READ),
        said % "score: 90": ("strict", READ), said % "Score: 9/10": ("strict", READ), said % "score: 91": ("doubt", {}),
        said % "score: many": ("strict", READ), said % "KB: 91": ("doubt", {}), said % "KB: 90": ("strict", READ),
        said % "see BC: 91": ("strict", READ), said % "Sorry, no.": ("strict", READ),
        beside % '"total": 100': ("doubt", {}),
        (said % "a").replace("10", "0").replace('"b"', '"I cannot"'): ("doubt", {}),
        beside % '"other": {"KB": 1}': ("doubt", {}), beside % '"other": {"KB": 1, "BC": 2}': ("doubt", {}),
        beside % '"other": {"KB": 90, "BC": 10}': ("doubt", {}), beside % '"max_score": 100': ("strict", READ),
        beside % '"error": "x"': ("doubt", {}), beside % '"error": ""': ("strict", READ),
        beside % '"ids": ["KB", "BC"]': ("strict", READ), beside % '"scores": {"KB": 90, "BC": 10}': ("strict", READ),
        '{"scores": {"KB": 9, "BC": 1}, "max_score": 10}': ("strict", READ),
        '{"max": 10, "KB": 9, "BC": 1}': ("strict", READ),
        '{"scores": {"KB": 9, "BC": 1}, "scale": "0-10"}': ("strict", READ),
        '{"scores": {"KB": 9, "BC": 1}, "scale": "1-10"}': ("doubt", {}),
        '{"scores": {"KB": 9, "BC": 1}, "scale": true}': ("doubt", {}),
        "[90, 10]": ("strict", READ), "[90, 10, 5]": ("rejected", {}), "x [90, 10]": ("rejected", {}),
        '{"scores": [90, 10], "ids": ["BC", "KB"]}': ("strict", {"KB": 10.0, "BC": 90.0}),
        '{"scores": [90, 10], "ids": ["BC", "BC"]}': ("rejected", {}),
        '{"scores": [90, 10], "ids": ["BC", "X"]}': ("rejected", {}),
        '{"scores": [["KB", 90], ["BC", 10]]}': ("strict", READ),
        '[{"score": 90, "reason": "x"}, {"score": 10}]': ("strict", READ),
        '[{"score": 90, "grade": 1}, {"score": 10}]': ("doubt", {}), '[{"KB": 90}, {"BC": 10}]': ("strict", READ),
        '[{"id": "KB", "score": 90}, {"id": "KB", "score": 10}]': ("doubt", {}),
        '[{"id": "KB", "name": "BC", "score": 90}]': ("doubt", {}),
        '[{"id": "KB", "score": 90}, {"id": "ZZ", "score": 10}]': ("doubt", {}),
        '[{"label": "KB", "score": 90}]': ("partial", HALF), '[{"beats": "KB", "score": 90}]': ("doubt", {}),
        '[{"id": "KB", "rank": "BC", "score": 90}]': ("partial", HALF),
        '[{"id": "KB", "note": "BC", "score": 90}]': ("partial", HALF), rows % '"raw_score": 80': ("doubt", {}),
        rows % '"raw_score": 90': ("strict", {"KB": 90.0, "BC": 11.0}),
        rows % '"max_score": 100': ("strict", {"KB": 90.0, "BC": 11.0}), '{"KB": {"score_1": 90}}': ("doubt", {}),
        '{"KB": {"score_1": 90, "score_2": 80}, "BC": {"score": 11}}': ("doubt", {}),
        '{"role": "user", "scores": ' + OWN + "}": ("rejected", {}), '{"result": ' + OWN + "}": ("rejected", {}),
        '{"result": {"scores": ' + OWN + "}}": ("strict", READ), '{"result": [90, 10]}': ("rejected", {}),
        '{"result": [{"id": "KB", "score": 90}]}': ("partial", HALF),
        '{"name": "f", "arguments": [90, 10]}': ("strict", READ),
        '{"name": "f", "arguments": ' + json.dumps(OWN) + "}": ("strict", READ),
        '{"result": {"output": {"evaluation": {"response": {"scores": ' + OWN + "}}}}}": ("strict", READ),
        '{"result": {"output": {"evaluation": {"response": {"verdict": {"scores": ' + OWN + "}}}}}}": ("rejected", {}),
        OWN + OWN: ("strict", READ), '{"KB": 90}{"KB": 80, "BC": 10}': ("doubt", {}),
        '{"x": 1}' + OWN: ("doubt kept", READ), OWN + '{"x": 1}': ("doubt kept", READ),
        '{"KB": 90, "BC": 10': ("truncated", {}), '{"KB": 90, "BC": 10]': ("doubt", {}),
        '{"scores": ' + OWN: ("repaired", READ), '{"scores": {"KB": 90}': ("truncated", {}),
        "<think>x": ("truncated", {}), "90; 10": ("text", READ), "(90, 10)": ("text", READ),
        "90, 10, 5": ("rejected", {}), "KB: 90; BC: 10\n": ("text", READ), "Scores:\nKB: 90\nBC: 10\n": ("text", READ),
        "Scores:\nx\nKB: 90\nBC: 10\n": ("doubt kept", READ), "KB: 90\nx\n": ("doubt", {}),
        "KB: 90\nZZ: 5\nBC: 10\n": ("doubt", {}), "KB: 90\nThe weather: 5\nBC: 10\n": ("doubt", {}),
        "KB: 90\nKB: 80\nBC: 10\n": ("doubt", {}),
        "| x | id | score |\n| a | KB | 90 |\n| b | BC | 10 |\n": ("text", READ),
        "| id | score | score |\n| KB | 1 | 90 |\n": ("doubt", {}), "": ("rejected", {}), "x": ("rejected", {}),
        '{"x": 1}': ("rejected", {}),
    }  # fmt: skip
    readings = {text: extract_scores(text, IDS, scale=(0, 100)) for text in cases}
    assert {text: (kind_of(one), one.scores or one.doubted) for text, one in readings.items()} == cases
    assert extract_scores("7", ["x"], scale=(0, 100)).doubted == {"x": 7.0}
    cut = {OWN: "strict", '{"KB": 90}': "partial truncated", "Sure! " + OWN: "doubt truncated kept", "x": "truncated"}
    found = {text: kind_of(extract_scores(text, IDS, scale=(0, 100), finish_reason="length")) for text in cut}
    assert found == cut
    assert extract_scores("KB: 90\nBC: 10", IDS, scale=(0, 100), finish_reason="stop").scores == READ


def test_explanations_are_those_of_the_ids_asked_about_wherever_they_stand():
    cases: dict[str, dict[str, str]] = {
        '{"scores": {"KB": 90, "BC": 11}, "explanations": {"KB": "a", "ZZ": "x", "BC": null}}': {"KB": "a"},
        '{"scores": {"KB": 90, "BC": 11}, "explanations": "x"}': {}, '{"KB": 90, "BC": 11}': {},
        '{"KB": {"score": 90, "reason": "r", "note": "n"}, "BC": {"score": 11}}': {"KB": "r\nn"},
        '[{"id": "KB", "score": 90, "why": "w"}, {"id": "BC", "score": 11}]': {"KB": "w"},
        'So: {"scores": {"KB": 90, "BC": 11}, "explanations": {"KB": "a"}}': {"KB": "a"},
    }  # fmt: skip
    assert {text: extract_scores(text, IDS, scale=(0, 100)).explanations for text in cases} == cases


def test_a_verdict_says_why_there_is_none():
    cases: dict[str, tuple[bool | None, str | None]] = {
        "Yes.": (True, None), "Yes: it is not met.": (None, "two verdicts"), "Yes\nNo": (None, "two verdicts"),
        "[[yes]] and [[1]]": (True, None), "[[maybe]]": (None, "no verdict"), "non-compliant": (False, None),
        "Verdict: met\nVerdict: not met": (None, "two verdicts"), "Verdict: met\nAnswer: yes": (True, None),
        "x\nFinal verdict: **unmet**.": (False, None), "Verdict: met because": (None, "no verdict"),
        '{"met": 1}': (True, None), '{"met": 0.0}': (False, None), '{"met": 2}': (None, "2 is neither"),
        '{"met": null}': (None, "could not tell"), '{"met": "n/a"}': (None, "could not tell"),
        '{"met": true, "verdict": "met"}': (True, None), '{"met": true, "verdict": "unmet"}': (None, "two verdicts"),
        '{"met": null, "verdict": "unmet"}': (False, None), '{"met": true, "met": true}': (True, None),
        '{"met": true, "met": false}': (None, "two verdicts"),
        '{"met": true, "note": "verdict: no"}': (None, "contradicts"),
        '{"met": true, "note": "verdict: unclear"}': (True, None),
        '{"met": true, "note": "verdict: yes"}': (True, None), '{"met": true, "error": ""}': (True, None),
        '{"met": true, "refusal": "x"}': (None, "an error"), '{"x": true}': (None, "no verdict"),
        "[true]": (None, "a list"), "{met: yes}": (True, None), '{"met": true}{"met": true}': (True, None),
        '{"met": true}{"met": false}': (None, "two verdicts"), '{"a": 1}{"met": true}': (True, None),
        'x {"met": true}': (None, "words around"), '{"met": [true]}': (None, "no verdict"),
        "Here is the verdict:\n{'met': true}": (True, None), '{"met": true': (None, "ends inside"), "": (None, "empty"),
        '{"met": "Yes, it does."}': (None, "neither"), '{"met": "Yes; it does."}': (True, None),
        "<think>x": (None, "never ends"), "{": (None, "no verdict"), '{"': (None, "ends inside"),
        '{"met": true]': (None, "damaged"), "Yes" + " " * 70_000: (True, None),
        "Yes" + "." * 70_000: (None, "too long"),
    }  # fmt: skip
    readings = {text: extract_verdict(text) for text in cases}
    assert [
        (text[:40], one.met, one.reason)
        for text, one in readings.items()
        if one.met != cases[text][0] or str(cases[text][1]) not in str(one.reason)
    ] == []
    outcomes = {"Yes.": "text", '{"met": 1}': "strict", "{met: yes}": "repaired", "": "rejected"}
    assert {text: readings[text].outcome for text in outcomes} == outcomes


def test_a_checklist_comes_with_its_outcome_and_a_whole_one_is_kept():
    both, first = {"1": True, "2": False}, {"1": True}
    right, twice = (
        '{"1": true, "2": false}',
        '[{"number": 1, "met": true}, {"number": 2, "met": false}, {"number": 2, "met": %s}]',
    )
    cases: dict[str, tuple[str, dict[str, bool]]] = {
        right: ("strict", both), "{1: true, 2: false}": ("repaired", both), "1: yes\n2: no": ("text", both),
        '{"1": true}': ("partial", first), '{"1": true, "2": "yes, but only in part"}': ("partial", first),
        '{"1": true, "2": ["no"]}': ("partial", first), '{"1": true, "2": null}': ("partial", first),
        '{"1": null, "2": 7}': ("rejected", {}), "So: " + right: ("doubt kept", both), 'So: {"1": true}': ("doubt", {}),
        right[:-1]: ("truncated", {}), '{"a": {"b": {"c": ' + right + "}}}": ("strict", both),
        '{"a": {"b": {"c": {"d": ' + right + "}}}}": ("rejected", {}), '{"a": {"1": true}, "b": [1]}': ("rejected", {}),
        '{"a": {"1": true}, "b": 1}': ("partial", first), "[true, false]": ("strict", both), "[true]": ("rejected", {}),
        "[true, null]": ("partial", first), '{"0": true, "1": false}': ("strict", both),
        '{"0": true}': ("rejected", {}), '{"1": true, "2": true, "0": false}': ("doubt", {}),
        '[{"number": 0, "met": true}, {"number": 1, "met": false}]': ("strict", both),
        '[{"number": 3, "met": true}]': ("doubt", {}),
        '[{"number": 1, "met": true}, {"number": 1, "met": false}]': ("doubt", {}), twice % "true": ("doubt", {}),
        twice % "false": ("strict", both), '[{"number": 1, "points": 5, "met": true}]': ("partial", first),
        '{"1": true, "criterion_1": false}': ("doubt", {}), '{"1": true, "criterion_1": true}': ("partial", first),
        "1: yes\nx\n": ("doubt", {}), "1: yes\nx\n2: no": ("doubt kept", both), "1: yes\n1: no": ("doubt", {}),
        "1: maybe\n2: no": ("doubt", {}), "Verdicts:\n1: yes\n2: no": ("text", both),
        "| 1 | yes |\n| 2 | no |": ("text", both), '{"1": {"criterion": 2, "met": true}, "2": true}': ("doubt", {}),
        '{"error": "e", "1": true}': ("doubt", {}), '{"error": "", "1": true}': ("partial", first),
        "yes": ("rejected", {}), "": ("rejected", {}), "<think>x": ("truncated", {}),
    }  # fmt: skip
    readings = {text: extract_checklist(text, ["1", "2"]) for text in cases}
    assert {text: (kind_of(one), one.verdicts or one.doubted) for text, one in readings.items()} == cases
    cut = extract_checklist(right, ["1", "2"], finish_reason="length")
    assert (kind_of(cut), cut.verdicts) == ("truncated", {})
    assert extract_checklist('{"1": null, "2": 7}', ["1", "2"]).reason == "the judge could not tell"
    unknown = extract_checklist('{"1": {"reason": "so", "met": true}, "2": "N/A"}', ["1", "2"])
    assert (unknown.reason, sorted(unknown.undecided), unknown.reasons) == (None, ["2"], {"1": "so"})
    assert extract_checklist('{"1": "Cannot tell", "2": 7}', ["1", "2"]).undecided == {"1"}


def test_rows_are_matched_by_texts_of_eight_letters_and_by_ids_and_never_by_both_at_odds():
    texts = {"1": "Is 42, the answer.", "2": "Is wrong!"}
    row = '[{"number": 1, "text": "%s", "met": true}]'
    cases: dict[str, dict[str, bool]] = {
        row % "Is wrong": {}, row % "Is 42": {"1": True}, row % "Is 42, the ans": {"1": True},
        row % "else": {"1": True}, '[{"text": "is WRONG", "met": true}]': {"2": True},
        '[{"text": "Is 42 th", "met": true}]': {"1": True}, '[{"text": "Is 42 t", "met": true}]': {},
        '[{"text": "It is 42, the answer.", "met": false}]': {"1": False}, '[{"text": "Is", "met": true}]': {},
        "Is wrong: no\nIs 42, the answer: yes": {"1": True, "2": False},
    }  # fmt: skip
    assert {text: extract_checklist(text, ["1", "2"], texts=texts).verdicts for text in cases} == cases
    named: dict[str, dict[str, bool]] = {
        '[{"id": "a", "met": true}, {"id": "b", "met": false}]': {"a": True, "b": False},
        '[{"id": "a", "met": true}, {"id": "a", "met": true}]': {"a": True},
        '[{"id": "a", "met": true}, {"id": "c", "met": true}]': {},
        '[{"id": "a", "met": true}, {"id": "a", "met": false}]': {}, '[{"id": "a", "met": true}, true]': {},
        '{"met": true, "id": "b"}': {}, '[{"met": true}, {"met": false}]': {"a": True, "b": False},
        '{"a": true, "zz": true}': {"a": True}, '{"a": true, "7": true}': {},
    }  # fmt: skip
    assert {text: extract_checklist(text, ["a", "b"]).verdicts for text in named} == named
    alone = {
        '{"met": true}': {"a": True}, '{"met": true, "id": "a"}': {"a": True}, "yes": {"a": True},
        "[[0]]": {"a": False}, "Good.\nVerdict: met": {"a": True}, '[{"met": true}]': {"a": True}, '{"x": true}': {},
    }  # fmt: skip
    assert {text: extract_checklist(text, ["a"]).verdicts for text in alone} == alone


def test_choices_and_rankings_come_with_their_outcome():
    choices = {
        "A": ("A", "text"), '{"choice": "A"}': ("A", "strict"), "{choice: A}": ("A", "repaired"),
        "Draw.": ("tie", "text"), '{"choice": "A"} x': (None, "rejected"), '{"choice": "A"': (None, "rejected"),
        "C": (None, "rejected"), '{"choice": "A", "winner": "B"}': (None, "rejected"),
        '{"choice": "A", "winner": "A"}': ("A", "strict"), "Verdict: A\nChoice: A": ("A", "text"),
        "Verdict: A\nChoice: B": (None, "rejected"), "[[A]]\nVerdict: B": (None, "rejected"),
        "Response A is better. I choose A.": ("A", "text"), "x" * 70_000: (None, "rejected"),
        "<think>": (None, "rejected"),
    }  # fmt: skip
    readings = {text: extract_choice(text, ["A", "B"]) for text in choices}
    assert {text: (one.choice, one.outcome) for text, one in readings.items()} == choices
    assert [extract_choice("A", labels).choice for labels in (["A"], ["A", "A"], ["A", "A "])] == [None] * 3
    assert (extract_choice("B", ["b", "B"]).choice, extract_choice("TIE", ["tie", "A"]).choice) == ("B", "tie")
    assert extract_choice("C", ["A", "B", "C"]).choice == "C"
    rankings: dict[str, tuple[tuple[int, ...], str, tuple[str, ...]]] = {
        "[2] > [3] > [1]": ((2, 3, 1), "text", ()), "[2] > [3]": ((2, 3), "partial", ()),
        "[2, 3, 1]": ((2, 3, 1), "strict", ()), "[2] > [2] > [1] > [3]": ((2, 1, 3), "text", ("[2]",)),
        "[2] > [9] > [1] > [3]": ((2, 1, 3), "text", ("[9]",)), "{ranking: [2, 3, 1]}": ((2, 3, 1), "repaired", ()),
        '{"ranking": [2, 3, 1], "reason": "x"}': ((2, 3, 1), "strict", ()),
        '{"ranking": [2, 3, 1], "x": 1}': ((), "rejected", ()), '{"ranking": []}': ((), "rejected", ()),
        "[2]": ((), "rejected", ()), "[2, 3, 1] x": ((), "rejected", ()), "[2, 3, 1": ((), "rejected", ()),
        "[2, true, 1]": ((), "rejected", ()), "[7, 8]": ((), "rejected", ("7", "8")),
        "1. 2\n3. 3\n4. 1": ((), "rejected", ()), "1. [2] 2. [3]": ((2, 3), "partial", ()),
        "1. [2] 3. [3]": ((), "rejected", ()), "2, 3, x": ((), "rejected", ()),
        "Ranking: [2, 3, 1]": ((2, 3, 1), "text", ()), "[2] > a long strange name here > [1]": ((), "rejected", ()),
        "[2] > x > [1]": ((2, 1), "partial", ("x",)),
    }  # fmt: skip
    ranked = {text: extract_ranking(text, [1, 2, 3]) for text in rankings}
    assert {text: (one.ranking, one.outcome, one.dropped) for text, one in ranked.items()} == rankings
    assert all(set(one.missing) == {1, 2, 3} - set(one.ranking) for one in ranked.values())
    reasons = {
        "[2] > [3]": "missing",
        "[2] > [2] > [1] > [3]": "dropped",
        "[2, 3, 1]": "None",
        "[2] > x > [1]": "missing",
    }
    assert [text for text, why in reasons.items() if why not in str(ranked[text].reason)] == []


def test_margins_are_shares_of_the_strongest_preference_and_of_the_scale():
    """One step of five grades is half a margin; two of ten points lead by 1/9 of the scale from 1 to 10."""
    cases: dict[tuple[str, str], tuple[str | None, float | None]] = {
        ("arena_hard", "[[A>>B]]"): ("x", 1.0), ("arena_hard", "[[A>B]]"): ("x", 0.5),
        ("arena_hard", "[[A<B]]"): ("y", 0.5), ("arena_hard", "[[B<<A]]"): ("x", 1.0),
        ("arena_hard", "[[A=B]]"): ("tie", 0.0), ("arena_hard", "[[A>A]]"): (None, None),
        ("wildbench", '{"choice": "A++"}'): ("x", 1.0), ("wildbench", '{"choice": "B+"}'): ("y", 0.5),
        ("wildbench", '{"choice": "A=B"}'): ("tie", 0.0), ("vicuna", "8 7\nx"): ("x", 1 / 9),
        ("vicuna", "7 7\nx"): ("tie", 0.0), ("vicuna", "10 1\nx"): ("x", 1.0), ("vicuna", "11 1\nx"): (None, None),
        ("vicuna", "0 1\nx"): (None, None), ("vicuna", "7 8 9"): (None, None), ("mt_bench", "[[A]]"): ("x", None),
        ("mt_bench", "[[C]]"): ("tie", None), ("mt_bench", "[[A]] [[B]]"): (None, None),
        ("mt_bench", "[[A]]\nmore"): (None, None), ("mt_bench", 'say "[[A]]" or\n[[B]]'): ("y", None),
        ("mt_bench", "[[8, 6]]"): ("x", 2 / 9), ("alpaca_eval", "m"): ("x", None), ("alpaca_eval", "M"): ("y", None),
        ("alpaca_eval", "[{'model': 'm', 'rank': 2}, {'model': 'M', 'rank': 1}]"): ("y", None),
        ("alpaca_eval", "[{'model': 'm', 'rank': 1}, {'model': 'M', 'rank': 1}]"): (None, None),
        ("alpaca_eval", "[{'model': 'm'}, {'model': 'M'}]"): ("x", None),
        ("alpaca_eval", "[{'model': 'm', 'rank': 1}]"): (None, None),
        ("alpaca_eval", "[{'model': 'y', 'rank': 1}, {'model': 'x', 'rank': 2}]"): ("y", None),
        ("reward_bench", "[[C]]"): (None, None),
    }  # fmt: skip
    readings = {case: extract_choice(case[1], ["x", "y"], format=case[0]) for case in cases}
    assert {case: (one.choice, one.margin) for case, one in readings.items()} == cases
    three = {"7 7 7\nx": "tie", "7 7 5\nx": None, "5 7 6\nx": "y"}
    assert {text: extract_choice(text, ["x", "y", "z"], format="vicuna").choice for text in three} == three
    assert [extract_choice("[[A]]", labels, format="mt_bench").choice for labels in (["x"], ["x", "x"])] == [None, None]
    swapped = {("B", "A"): "B", ("B", "z"): "z", ("y", "A"): "A"}
    assert {labels: extract_choice("[[B]]", labels, format="mt_bench").choice for labels in swapped} == swapped


def test_scores_and_verdicts_of_formats_say_why_there_are_none():
    scores: dict[tuple[str, str, int], tuple[list[float], str]] = {
        ("prometheus", "[RESULT] 4", 1): ([4.0], "strict"), ("prometheus", "[RESULT] 4", 2): ([], "rejected"),
        ("prometheus", "[RESULT] 4\nx", 1): ([], "doubt"), ("prometheus", "[RESULT] 9", 1): ([], "doubt"),
        ("prometheus", "[RESULT] 4/10", 1): ([2.6], "strict"), ("vicuna", "8 7\nx", 2): ([8.0, 7.0], "strict"),
        ("vicuna", "8\nx", 2): ([], "rejected"), ("deepseek_grm", "\\boxed{8, 7}", 2): ([8.0, 7.0], "strict"),
        ("ultrafeedback", "Rating: 4\nRating: 2", 2): ([4.0, 2.0], "strict"),
        ("ultrafeedback", "Text 2\nRating: 4\nText 1\nRating: 2", 2): ([], "doubt"),
        ("ultrafeedback", "Rating: 4", 2): ([], "doubt"), ("score", "Score: 0.5", 1): ([0.5], "strict"),
        ("score", "<think>", 1): ([], "truncated"),
    }  # fmt: skip
    readings = {case: extract_scores(case[1], ["a", "b"][: case[2]], format=case[0]) for case in scores}
    assert {case: ([*one.scores.values()], kind_of(one)) for case, one in readings.items()} == scores
    for end in ("", "\n", " "):  # 4 may be the beginning of 4.5
        assert (
            kind_of(extract_scores("[RESULT] 4" + end, ["a"], format="prometheus", finish_reason="length"))
            == "truncated"
        )
    verdicts: dict[tuple[str, str], tuple[bool | None, str | None]] = {
        ("simpleqa", "A"): (True, None), ("simpleqa", "B: INCORRECT"): (False, None),
        ("simpleqa", "B: CORRECT"): (None, "differ"), ("simpleqa", "C"): (None, "neither"),
        ("simpleqa", "D"): (None, "no value"), ("inspect_ai", "GRADE: P"): (None, "neither"),
        ("inspect_ai", "GRADE: I\nx"): (None, "words around"),
        ("healthbench", '{"criteria_met": "maybe"}'): (None, "not one"),
        ("healthbench", '{"explanation": "VERDICT: NOT MET", "criteria_met": true}'): (None, "contradicts"),
        ("healthbench", '{"criteria_met": true, "a": {"criteria_met": false}}'): (None, "contradict"),
        ("healthbench", '{"a": {"b": {"c": {"criteria_met": false}}}}'): (False, None),
        ("healthbench", '{"a": {"b": {"c": {"d": {"criteria_met": false}}}}}'): (None, "no value"),
        ("healthbench", '{"criteria_met": true'): (None, "ends inside"), ("verif", "[[1]] [[0]]"): (None, "contradict"),
        ("verif", "> [[1]]\n[[0]]"): (False, None), ("verif", "<think>"): (None, "never ended"),
    }  # fmt: skip
    found = {case: extract_verdict(case[1], format=case[0]) for case in verdicts}
    assert [
        (case, one)
        for case, one in found.items()
        if one.met != verdicts[case][0] or str(verdicts[case][1]) not in str(one.reason)
    ] == []
