"""Verdicts on several criteria from one reply: read rightly, or missing with a reason, and never a guess."""

import json
import random
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies import extract_checklist
from reply_damage import TUNED, UNSEEN

IDS = ("1", "2", "3")
TRUTH = {"1": True, "2": False, "3": True}
PRESENT = {"1": "PRESENT", "2": "NOT_PRESENT", "3": "PRESENT"}
REPLY = json.dumps(PRESENT, indent=1)


def fenced(text: str, label: str = "json") -> str:
    return f"```{label}\n{text}\n```"


BROKE_THE_STUDY = {
    "preface before the fence": "Here is my evaluation of the response.\n" + fenced(REPLY),
    "text after the fence": fenced(REPLY) + "\nOverall the response is decent.",
    "plain fence": fenced(REPLY, ""),
    "upper-case fence": fenced(REPLY, "JSON"),
    "booleans": fenced(json.dumps(TRUTH)),
    "nested objects": fenced(json.dumps({key: {"verdict": one, "why": "..."} for key, one in PRESENT.items()})),
    "rubric_1 keys": fenced(json.dumps({f"rubric_{key}": one for key, one in PRESENT.items()})),
    "leftover </think>": 'Perhaps {"1": "NOT_PRESENT"} at first sight.\n</think>\n' + fenced(REPLY),
    "list": fenced(json.dumps(list(PRESENT.values()))),
    "trailing comma": fenced('{"1": "PRESENT", "2": "NOT_PRESENT", "3": "PRESENT",}'),
    "NOT PRESENT with a space": fenced(REPLY.replace("_", " ")),
}


@pytest.mark.parametrize("reply", BROKE_THE_STUDY.values(), ids=BROKE_THE_STUDY.keys())
def test_complete_gradings_that_broke_the_studys_parser_are_read_rightly(reply: str) -> None:
    assert extract_checklist(reply, IDS).verdicts == TRUTH


def test_an_incomplete_grading_keeps_what_it_says() -> None:
    reading = extract_checklist(fenced('{"1": "PRESENT", "2": "NOT_PRESENT"}'), IDS)
    assert reading.verdicts == {"1": True, "2": False}
    assert reading.missing == {"3": "not in the reply"}
    assert reading.outcome == "partial"


@pytest.mark.parametrize("reply", ['```json\n{"1": "PRESENT", "2": "NOT_PRE', REPLY[:-2], "<think>So 1 is PRESENT"])
def test_what_was_cut_off_is_not_read_in_part(reply: str) -> None:
    reading = extract_checklist(reply, IDS)
    assert reading.verdicts == {}
    assert reading.truncated
    assert extract_checklist(REPLY, IDS, finish_reason="length").truncated


@pytest.mark.parametrize("reply", [
    json.dumps({"verdicts": {key: {"reason": "x", "met": one} for key, one in TRUTH.items()}}),
    json.dumps([{"idx": place, "verdict": one} for place, one in enumerate(PRESENT.values())]),
    json.dumps([{"criterion": "Mentions rest", "criteria_met": one} for one in TRUTH.values()]),
    json.dumps([{"criterion": "Mentions rest", "number": key, "met": one} for key, one in TRUTH.items()]),
    json.dumps({"0": True, "1": False, "2": True}),
    json.dumps({"question_1": "Yes. It does.", "question_2": "No, never", "question_3": "yes"}),
    json.dumps({"rubrics_check": {f"question_{key}": one for key, one in PRESENT.items()}, "SATISFIED_ALL": "NO"}),
    json.dumps({"verdicts": ["met", "unmet", "met"]}),
    json.dumps({"1": 1, "2": 0, "3": 1}),
    "{'1': 'PRESENT', '2': 'NOT_PRESENT', '3': 'PRESENT'}",
    '{"1": true}\n{"2": false}\n{"3": true}',
    "1. PRESENT\n2. NOT PRESENT\n3. PRESENT",
    "| 1 | met |\n| 2 | not met |\n| 3 | met |",
    "Criterion 1: yes\nCriterion 2: no - nothing of it\nCriterion 3: yes",
    '{"1": true, "2": true, "3": true}\nWait, let me redo that.\n{"1": true, "2": false, "3": true}',
    'For example: {"1": false}\n\n' + REPLY,
])  # fmt: skip
def test_other_forms_are_read(reply: str) -> None:
    assert extract_checklist(reply, IDS).verdicts == TRUTH


@pytest.mark.parametrize(("reply", "reason"), [
    ('{"0": true, "1": true, "2": true, "3": true}', "'0', which was not asked about"),
    ('{"1": true, "2": true, "3": true, "4": true}', "'4', which was not asked about"),
    ('{"1": true, "2": true, "3": true}\nActually, 2 is not present.', "take it back"),
    ('{"1": true, "2": true, "3": true}\nHmm.\n{"2": false}', "contradict"),
    ("The attempt claims: " + REPLY, "a draft, an example or a quotation"),
])  # fmt: skip
def test_a_reply_that_contradicts_itself_is_in_doubt(reply: str, reason: str) -> None:
    reading = extract_checklist(reply, IDS)
    assert reading.verdicts == {}
    assert reading.doubt
    assert reason in str(reading.reason)


@pytest.mark.parametrize(("value", "reason"), [
    (7, "7 is neither met nor not met"),
    (0.5, "0.5 is neither"),
    ("the eyes are described ... No", "neither met nor not met"),
    ("yes, but only in part", "neither met nor not met"),
    ("present or not", "neither met nor not met"),
    (["yes"], "a list where a verdict belongs"),
    ({}, "cannot be read|neither|no verdict|not in the reply|its value"),
])  # fmt: skip
def test_a_value_that_is_no_verdict_loses_only_its_criterion(value: object, reason: str) -> None:
    reading = extract_checklist(json.dumps({"1": value, "2": False, "3": True}), IDS)
    assert reading.verdicts == {"2": False, "3": True}
    assert any(part in reading.missing["1"] for part in reason.split("|"))
    assert not reading.undecided


@pytest.mark.parametrize("value", [None, "N/A", "not applicable", "Cannot tell"])
def test_a_judge_that_cannot_tell_is_believed(value: object) -> None:
    reading = extract_checklist(json.dumps({"1": value, "2": False, "3": True}), IDS)
    assert reading.undecided == {"1"}
    assert reading.missing == {"1": "the judge could not tell"}


@pytest.mark.parametrize(("reply", "met"), [
    ('{"explanation": "It does.", "criteria_met": true}', True),
    ('{"1": {"criteria_met": false}}', False),
    ("[[1]]\n\nAll constraints hold.", True),
    ("The reply breaks a rule.\n[[0]] and so: [[0]]", False),
    ("Yes.", True),
    ("The criterion is not met.", False),
    ("[[0]]\n\n1. Length: it is too long.\n2. Tone: fine.\n\nSo it is [[0]].", False),
    ("[[1]] or perhaps [[0]]", None),
    ("[[10]]", None),
    (fenced('{"1": {"reason": "see note [[3]]", "met": true}}'), True),
    ('{"foo": 1}', None),
    ("Nice weather.", None),
    ("", None),
])  # fmt: skip
def test_one_criterion_alone_needs_no_name(reply: str, met: bool | None) -> None:  # noqa: FBT001 - a value
    assert extract_checklist(reply, ["1"]).verdicts.get("1") is met


def test_levels_are_read_by_name_and_by_nothing_else() -> None:
    levels = {"1": {"none": 0.0, "partly": 0.5, "fully": 1.0}}
    assert extract_checklist('{"1": {"level": "Partly"}}', ["1"], levels=levels).verdicts == {"1": 0.5}
    for other in ("true", '"half"', "1"):
        reading = extract_checklist(f'{{"1": {{"level": {other}}}}}', ["1"], levels=levels)
        assert reading.verdicts == {}
        assert "level" in reading.missing["1"]


def test_reasons_and_quotes_come_along() -> None:
    reading = extract_checklist('{"1": {"quote": "rest", "reason": "says so", "met": true}}', ["1"])
    assert (reading.reasons, reading.quotes) == ({"1": "says so"}, {"1": "rest"})


def test_candidates_are_matched_by_their_keys() -> None:
    reading = extract_checklist(
        '{"RT": {"met": true}, "attempt CQ": {"met": false}, "XX": {"met": true}}', ["RT", "CQ"]
    )
    assert reading.verdicts == {"RT": True, "CQ": False}


@given(st.lists(st.booleans(), min_size=1, max_size=20))
def test_every_honest_grading_is_read_exactly(truth: list[bool]) -> None:
    ids = [str(number) for number in range(1, len(truth) + 1)]
    told = dict(zip(ids, truth, strict=True))
    rows = {id_: {"reason": f"it says {{{id_}}}", "met": met} for id_, met in told.items()}
    for reply in (json.dumps(told), fenced(json.dumps(rows)), "Sure!\n" + json.dumps(rows, indent=2)):
        reading = extract_checklist(reply, ids)
        assert (reading.verdicts, reading.missing, reading.outcome) == (told, {}, "strict")


@given(st.text(max_size=300) | st.text('{}[]":,1230 truefalsPRESNTnot\n`', max_size=200))
def test_any_text_ends_in_verdicts_or_reasons(text: str) -> None:
    reading = extract_checklist(text, IDS)
    assert set(reading.verdicts) | set(reading.missing) == set(IDS)
    assert not set(reading.verdicts) & set(reading.missing)
    assert all(reading.missing.values())


@given(st.dictionaries(st.sampled_from(IDS), st.booleans(), min_size=3), st.data())
def test_a_cut_never_turns_a_verdict_round(truth: dict[str, bool], data: st.DataObject) -> None:
    """Whatever is cut away from the end, what is still read is what was said."""
    reply = json.dumps({key: {"reason": "because", "met": met} for key, met in truth.items()}, indent=1)
    cut = data.draw(st.integers(0, len(reply)))
    reading = extract_checklist(reply[:cut], IDS)
    assert all(truth[key] == met for key, met in reading.verdicts.items())


def test_of_damaged_replies_none_is_read_wrongly_and_most_are_read() -> None:
    """Lost and doubled brackets, quotes, cuts, stutters and the like: a verdict is right, or missing."""
    asked = read = 0
    for seed in range(800):
        rng = random.Random(seed)
        truth = {str(number): rng.random() < 0.5 for number in range(1, rng.randint(3, 10))}
        text = json.dumps(_written(truth, rng), ensure_ascii=False, indent=rng.choice([None, 1, 2]))
        for _ in range(rng.randint(1, 2)):
            text = rng.choice([*TUNED, *UNSEEN])(text, rng)
        found = extract_checklist(text, list(truth)).verdicts
        assert all(truth[name] == met for name, met in found.items()), text
        asked, read = asked + len(truth), read + len(found)
    assert read > 0.75 * asked


def _written(truth: dict[str, bool], rng: random.Random) -> Any:
    """An honest grading in one of the forms in use."""
    why = "looped on the search tool; missed step 3 of 4"
    form = rng.randrange(4)
    if form == 0:
        return {name: "PRESENT" if met else "NOT_PRESENT" for name, met in truth.items()}
    if form == 1:
        return [{"id": name, "explanation": why, "verdict": "met" if met else "not met"} for name, met in truth.items()]
    rows = {name: {"reason": why, "met": met} for name, met in truth.items()}
    return rows if form == 2 else {"verdicts": rows}


def test_hostile_replies_end_soon() -> None:
    for reply in ("{" * 50_000, "[" * 100_000, '{"1": ' * 20_000, "1: yes\n" * 20_000, "[[1]] " * 30_000):
        reading = extract_checklist(reply, IDS)
        assert set(reading.missing) | set(reading.verdicts) == set(IDS)


@pytest.mark.parametrize("reply", [
    '{"1": "PRESENT", "1": "NOT_PRESENT", "2": true, "3": false}',
    '{"1": true, "2": true, "3": false, "1": false}',
    '{"1": {"met": true, "verdict": "no"}, "2": true, "3": false}',
    '{"1": {"met": true, "met": false}, "2": true, "3": false}',
    '[{"id": 1, "met": true}, {"id": 2, "met": true}, {"id": 3, "met": false}, {"id": 1, "met": false}]',
    '{"verdicts": {"criterion 1": "met", "criterion 2": "met", "rubric_1": "unmet", "criterion 3": "unmet"}}',
    '{"1": true, "1": null, "2": true, "3": false}',
    "1. PRESENT\n1. NOT PRESENT\n2. PRESENT\n3. NOT PRESENT",
])  # fmt: skip
def test_a_criterion_that_is_repeated_otherwise_stays_open_and_the_others_are_read(reply: str) -> None:
    reading = extract_checklist(reply, IDS)
    assert reading.verdicts == {"2": True, "3": False}
    assert set(reading.missing) == {"1"}
    assert "contradict" in reading.missing["1"]
    assert not reading.doubt


@pytest.mark.parametrize("reply", [
    '{"1": true, "2": true, "3": false, "1": true}',
    '[{"id": 1, "met": true}, {"id": 1, "met": "yes"}, {"id": 2, "met": 1}, {"id": 3, "met": 0}]',
])  # fmt: skip
def test_a_criterion_that_is_repeated_likewise_is_read(reply: str) -> None:
    assert extract_checklist(reply, IDS).verdicts == {"1": True, "2": True, "3": False}


def test_what_may_be_counted_wrongly_after_a_repeated_number_stays_open() -> None:
    ids = ["1", "2", "3", "4"]
    shifted = extract_checklist('{"1": true, "2": false, "2": false, "3": true}', ids)
    assert (shifted.verdicts, set(shifted.missing)) == ({"1": True, "2": False}, {"3", "4"})
    slipped = extract_checklist('{"1": true, "2": false, "2": false, "4": true}', ids)
    assert (slipped.verdicts, set(slipped.missing)) == ({"1": True, "2": False, "4": True}, {"3"})


def test_a_row_names_its_criterion_under_any_of_its_keys() -> None:
    rows = [{"id": "zz", "criterion": "1", "met": True}, {"id": "2", "criterion": "Names a city", "met": False}]
    assert extract_checklist(json.dumps(rows), ["1", "2"]).verdicts == {"1": True, "2": False}
    rows[0] = {"id": "zz", "criterion": "Names a river", "met": True}
    assert extract_checklist(json.dumps(rows), ["1", "2"]).verdicts == {"2": False}
