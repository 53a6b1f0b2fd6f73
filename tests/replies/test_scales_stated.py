"""Scales that replies state, end to end: converted where they are plain, doubted where they are not."""

from __future__ import annotations

import json
from typing import Any

import pytest

from calipers.replies import extract_scores
from reply_shapes import HALVES, grade
from reply_shapes.draw import Shape

IDS = ("KB", "BC")
HUNDRED = (0.0, 100.0)
READ = {"KB": 90.0, "BC": 60.0}


def read(reply: Any, ids: tuple[str, ...] = IDS, scale: tuple[float, float] = HUNDRED) -> dict[str, float]:
    return extract_scores(reply if isinstance(reply, str) else json.dumps(reply), ids, scale=scale).scores


@pytest.mark.parametrize(
    "reply",
    [
        {"KB": {"score": 9, "max_score": 10}, "BC": {"score": 60, "max_score": 100}},
        [{"id": "KB", "score": 9, "out_of": 10}, {"id": "BC", "score": 6, "out_of": 10}],
        {"scores": {"KB": 9, "BC": 6}, "scale": "0-10"},
        {"scores": {"KB": 9, "BC": 6}, "max_score": 10},
        {"scores": {"KB": 9, "BC": 60}, "max_scores": {"KB": 10, "BC": 100}},
        {"scores_out_of_10": {"KB": 9, "BC": 6}},
        {"KB": {"score (0-10)": 9}, "BC": {"score (0-10)": 6}},
        {"KB": {"score": "9分（满分10分）"}, "BC": {"score": "6 (von 10)"}},
        {"metadata": {"scale": {"min": 0, "max": 10}}, "scores": {"KB": 9, "BC": 6}},
        {"scores": {"KB": 9, "BC": 6}, "note": "All scores are out of 10."},
        {"KB": {"score": 0.9, "percentage": 90}, "BC": {"percentage": 60}} | {"KB": {"percentage": 90}},
        {"KB": {"criteria": [{"score": 4, "max": 5}], "total": 9, "max_total": 10}, "BC": {"total": 6, "out_of": 10}},
        'Scores out of 10:\n```json\n{"KB": 9, "BC": 6}\n```',
        '{"KB": 9, "BC": 6}\n\n(Skala: 0 bis 10)',
        "{'KB': {'score': 9, 'max_score': 10,}, 'BC': {'score': 6, 'max_score': 10,},}",
        '{\n  // out of 10\n  "KB": 9,\n  "BC": 6\n}',
        "On a scale of 0 to 10:\nKB: 9\nBC: 6\n",
        "KB: 9 von 10 Punkten\nBC: 6 (out of 10)\n",
        "KB：九分（满分十分）\nBC：６／１０\n",
        "| ID | Score (/10) |\n|---|---|\n| KB | 9 |\n| BC | 6 |\n",
        "| ID | Score | Out of |\n|---|---|---|\n| KB | 9 | 10 |\n| BC | 12 | 20 |\n",
        "id,score,max_score\nKB,9,10\nBC,6,10\n",
        "### KB\nScore: 9\nMax: 10\n\n### BC\nScore: 3\nMax: 5\n",
        '<score id="KB" max="10">9</score><score id="BC" max="5">3</score>',
        ("<table><tr><th>ID</th><th>Score "
        "(/10)</th></tr><tr><td>KB</td><td>9</td></tr><tr><td>BC</td><td>6</td></tr></table>"),
        "ID    Score (out of 10)\nKB    9\nBC    6\n",
        "**KB (9/10)**: clear\n**BC (6/10)**: stops early\n",
        "KB erhält 9 von 10 Punkten.\nBC erhält 6 von 10 Punkten.\n",
        "KBは10点満点中9点\nBCは10点満点中6点\n",
        "Scale: 0 = terrible, 10 = excellent\n\nKB: 9\nBC: 6\n",
    ],
)  # fmt: skip
def test_a_plainly_stated_scale_converts(reply: Any) -> None:
    assert read(reply) == pytest.approx(READ)


@pytest.mark.parametrize(
    ("reply", "scores"),
    [
        ({"KB": {"score": 90, "max_tokens": 100, "weight": 2}, "BC": {"score": 60, "max_steps": 10}}, READ),
        ({"KB": 90, "BC": 60, "max": 90, "min": 60, "mean": 75}, READ),
        ({"KB": {"score": 90, "range": [85, 95]}, "BC": {"score": 60, "range": [50, 70]}}, READ),
        ({"KB": {"score": 90, "accuracy_max": 5}, "BC": {"score": 60, "confidence": {"score": 1, "max": 5}}}, READ),
        ("KB: 90 - passes 9 out of 10 tests\nBC: 60 - scored 3/5 goals\n", READ),
        ('KB says "I deserve 10 out of 10".\n\nKB: 90\nBC: 60\n', READ),
        ("I first thought of a 1-5 scale.\n\nKB: 90\nBC: 60\n", READ),
        ("Scale: 0-100\nKB: 90\nBC: 60\n", READ),
        ("<think>KB 9/10</think>" + json.dumps(READ), READ),
        ({"scale": "linear", "scores": READ}, READ),
    ],
)
def test_what_is_no_scale_of_the_scores_changes_nothing(reply: Any, scores: dict[str, float]) -> None:
    assert read(reply) == pytest.approx(scores)


@pytest.mark.parametrize(
    "reply",
    [
        {"KB": {"score": 9, "max_score": 5}, "BC": {"score": 3, "max_score": 5}},
        {"scale": "1-6 (1 = best)", "scores": {"KB": 1, "BC": 6}},
        {"scale": "0-5", "scores": {"KB": 4, "BC": 3}, "note": "All scores are out of 10."},
        {"scores": {"KB": 10, "BC": 6}, "max_score": 10},
        {"scale": 37, "scores": {"KB": 9, "BC": 6}},
        {"KB": {"score": 9, "percentage": 40}, "BC": {"score": 6, "percentage": 80}},
        {"KB": {"score": 0.9, "max_score": 100}, "BC": {"score": 0.6, "max_score": 100}},
        {"scores": {"KB": 9, "BC": 6}, "explanations": {"KB": "a solid 9/10", "BC": "6 out of 10"}},
        "1 = best, 6 = worst\nKB: 1\nBC: 6\n",
        "Schulnoten (1 = sehr gut, 6 = ungenügend):\nKB: 1\nBC: 6\n",
        "KB: 1\nBC: 6\n\nNote: on this scale 1 is the best.\n",
        "KB (1/2): the first\nBC (2/2): the second\n",
        "Scores are out of 5.\nKB: 4\nBC: 3\n\nScores are out of 10.\n",
        "All scores are out of 10.\nKB: 90\nBC: 60\n",
        "KB: 9/10, or rather 6/10\nBC: 6/10 (80%)\n",
        {"KB": "9 (out of ten)", "BC": "6 (on some scale)"},
        {"KB": "4 stars", "BC": "3 stars"},
    ],
)
def test_a_scale_that_is_upside_down_unclear_or_contradicted_gives_no_number(reply: Any) -> None:
    assert read(reply) == {}


def test_where_no_score_is_left_the_reason_names_the_scale_and_the_whole_reply_is_asked_again() -> None:
    reading = extract_scores('{"score": 8, "total": 10}', ["KB"], scale=HUNDRED)
    assert (reading.reason, reading.doubt) == ("the scale of the score is not clear", True)


def test_beside_a_smaller_scale_a_bare_small_number_is_asked_again_and_a_large_one_is_read() -> None:
    assert read({"KB": "9/10", "BC": 6}) == {"KB": 90.0}
    assert read({"KB": "9/10", "BC": 60}) == READ
    assert read({"KB": "90%", "BC": 0.6}, scale=(0, 1)) == {"KB": 0.9, "BC": 0.6}


@pytest.mark.parametrize(
    ("reply", "scale", "score"),
    [
        ({"score": 8, "max_score": 10}, HUNDRED, 80),
        ({"score": 8, "max_score": 10}, (1, 10), 8),
        ({"rating": 4, "scale": "1-5"}, HUNDRED, 75),
        ({"score": 4, "out_of": 5}, (1, 5), 4),
        ("Score: 4 (1-5)", HUNDRED, 75),
        ("**Note :** 15/20", (0, 10), 7.5),
        ("Rating: [[7]] out of 10", (1, 10), 7),
        ("I would give it 8 out of 10.", HUNDRED, 80),
        ("On a scale of 1 to 5, I would give it a 4.", HUNDRED, 75),
        ("Ich gebe 8 von 10 Punkten.", HUNDRED, 80),
    ],
)
def test_one_candidate_is_converted_likewise(reply: Any, scale: tuple[float, float], score: float) -> None:
    assert read(reply, ("KB",), scale) == pytest.approx({"KB": score})


@pytest.mark.parametrize(
    "reply",
    [
        "I would give it 8 out of 10 for style.", "If it had run, I would give it 8 out of 10.",
        "It scored 8 out of 10 on the tests.",
        "I would give it 8 out of 10, but no more than 5 overall.",
        "I give the first half 8/10. I give the second half 4/10.",
    ],
)  # fmt: skip
def test_what_a_judge_gives_a_part_or_under_a_condition_is_no_score(reply: str) -> None:
    assert read(reply, ("KB",)) == {}


def test_names_that_are_empty_or_alike_end_no_reading() -> None:
    assert read("Score: 8/10\n1: 5", ("",)) in ({}, {"": 80.0})
    assert read("KB: 9/10\nkb: 5/10\n", ("KB", "kb")) == {"KB": 90.0, "kb": 50.0}


def test_the_score_of_a_part_is_not_the_score() -> None:
    assert read({"accuracy": {"score": 3, "max_score": 5}, "style": {"score": 3, "max_score": 5}}, ("KB",)) == {}


def test_a_rating_from_one_to_ten_stands_under_its_name_and_converts() -> None:
    rating = ("rating",)
    assert read({"explanation": "ok", "rating": 7}, rating, (1, 10)) == {"rating": 7}
    assert read({"rating": 7, "max_rating": 10}, rating, (1, 10)) == {"rating": 7}
    assert read({"rating": 4, "scale": "1-5"}, rating, (1, 10)) == {"rating": 7.75}
    assert read({"rating": {"score": 4, "out_of": 5}}, rating, (1, 10)) == pytest.approx({"rating": 8.2})


def shapes() -> list[Shape]:
    return [shape for half in HALVES.values() for shape in half]


@pytest.mark.parametrize("shape", shapes(), ids=lambda shape: shape.name)
def test_no_generated_shape_is_read_wrongly(shape: Shape) -> None:
    for draw in range(4):
        case = shape.draw(f"test/{draw}")
        graded, found = grade(case)
        assert graded != "wrong", (case.text, case.scale, case.truth, found)


def test_most_generated_replies_that_state_their_scores_are_read() -> None:
    grades = [grade(shape.draw("test/0"))[0] for shape in shapes() if not shape.abstain]
    assert grades.count("exact") / len(grades) > 0.95


@pytest.mark.parametrize("shape", [one for one in shapes() if not one.abstain][::3], ids=lambda shape: shape.name)
def test_cut_before_its_scale_a_reply_never_gives_a_wrong_number(shape: Shape) -> None:
    case = shape.draw("cut")
    for end in range(0, len(case.text), 3):
        found = extract_scores(case.text[:end], case.ids, scale=case.scale, finish_reason="length").scores
        off = {id_ for id_, score in found.items() if id_ not in case.truth or abs(case.truth[id_] - score) > 1e-6}
        assert not off, (case.text[:end], case.scale, case.truth, found)
