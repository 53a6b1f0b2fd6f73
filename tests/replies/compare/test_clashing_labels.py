"""Labels that differ only in what matching ignores elsewhere (case, width, leading zeros, signs) are never confused."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.checklist import extract_checklist
from calipers.replies.scores.scores import extract_scores

PAIRS = [
    ("m", "M"),
    ("a", "A"),
    ("A", "Ａ"),
    ("ａ", "Ａ"),
    ("1", "01"),
    ("1", "１"),
    ("A", "A+"),
    ("gpt", "GPT"),
    ("Model m", "Model M"),
    ("model_a", "model_A"),
    ("é", "e"),
    ("é", "É"),
    ("k", "K"),
    ("ß", "ss"),
    ("①", "1"),
    ("run-1", "run 1"),
    ("s", "ſ"),
]

SAYS = [
    "{w}",
    "[[{w}]]",
    "**{w}**",
    "Winner: {w}",
    "Choice: {w}.",
    "<answer>{w}</answer>",
    "\\boxed{{{w}}}",
    '{{"choice": "{w}"}}',
    "My verdict is [[{w}]] and not the other one.",
    "Response {w} is better.",
    "Overall, Response ({w}) is better than Response ({l}).",
    "I prefer Output ({w}).",
    "[[{w}>{l}]]",
    "[[{l}<<{w}]]",
]
SCORES = [
    '{{"{w}": 9, "{l}": 2}}',
    '{{"scores": {{"{l}": 2, "{w}": 9}}}}',
    '[{{"id": "{w}", "score": 9}}, {{"id": "{l}", "score": 2}}]',
    "{w}: 9\n{l}: 2",
    "Trajectory {l}: 2\nTrajectory {w}: 9",
    "| id | score |\n|---|---|\n| {w} | 9 |\n| {l} | 2 |",
    "### Response {w}\nScore: 9\n\n### Response {l}\nScore: 2",
]
RANKINGS = ["{w} > {l}", "[{w}] > [{l}]", '["{w}", "{l}"]', '{{"ranking": ["{w}", "{l}"]}}', "1. {w}\n2. {l}"]
EVERY_PAIR = [*PAIRS, *((second, first) for first, second in PAIRS)]


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
@pytest.mark.parametrize("says", SAYS)
def test_a_choice_is_never_the_label_that_only_looks_alike(winner: str, loser: str, says: str) -> None:
    text = says.format(w=winner, l=loser)
    for labels in itertools.permutations([winner, loser]):
        assert extract_choice(text, labels).choice in (winner, None)


@pytest.mark.parametrize(("winner", "loser"), [pair for pair in EVERY_PAIR if "ſ" not in pair])
def test_a_bare_label_or_a_mark_with_it_is_read(winner: str, loser: str) -> None:
    for text in (winner, f"[[{winner}]]", f"Winner: {winner}", f'{{"choice": "{winner}"}}'):
        assert extract_choice(text, [loser, winner]).choice == winner


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
@pytest.mark.parametrize("says", SCORES)
def test_scores_are_never_given_to_the_id_that_only_looks_alike(winner: str, loser: str, says: str) -> None:
    read = extract_scores(says.format(w=winner, l=loser), [loser, winner], scale=(0, 10)).scores
    assert read.get(winner) in (9, None)
    assert read.get(loser) in (2, None)


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
def test_scores_under_json_keys_are_read(winner: str, loser: str) -> None:
    read = extract_scores(f'{{"{winner}": 9, "{loser}": 2}}', [loser, winner], scale=(0, 10))
    assert read.scores == {loser: 2, winner: 9}


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
@pytest.mark.parametrize("only", ["{w}: 9", "Trajectory {w}: 9", '{{"{w}": 9}}', "#{w} gets 9 points"])
def test_a_score_for_one_is_not_the_others(winner: str, loser: str, only: str) -> None:
    read = extract_scores(only.format(w=winner), [loser, winner], scale=(0, 10)).scores
    assert loser not in read


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
@pytest.mark.parametrize("says", RANKINGS)
def test_a_ranking_does_not_turn_round(winner: str, loser: str, says: str) -> None:
    read = extract_ranking(says.format(w=winner, l=loser), [loser, winner])
    assert read.ranking in ((winner, loser), ())


@pytest.mark.parametrize(("winner", "loser"), EVERY_PAIR)
def test_a_ranking_as_a_json_list_is_read(winner: str, loser: str) -> None:
    assert extract_ranking(f'["{winner}", "{loser}"]', [loser, winner]).ranking == (winner, loser)


@pytest.mark.parametrize(("one", "other"), EVERY_PAIR)
def test_a_level_is_not_the_one_that_only_looks_alike(one: str, other: str) -> None:
    levels = {"c1": {one: 1.0, other: 0.0}}
    read = extract_checklist(f'{{"c1": "{one}"}}', ["c1"], levels=levels)
    assert read.verdicts.get("c1") == 1.0


@pytest.mark.parametrize(("one", "other"), EVERY_PAIR)
def test_a_verdict_is_not_given_to_the_criterion_that_only_looks_alike(one: str, other: str) -> None:
    read = extract_checklist(f'{{"{one}": "met", "{other}": "not met"}}', [other, one])
    assert read.verdicts == {one: True, other: False}


def test_equal_labels_are_no_choice() -> None:
    reading = extract_choice("[[A]]", ["A", "A"])
    assert (reading.choice, reading.reason) == (None, "two labels are the same")


def test_the_label_of_a_tie_may_differ_from_a_label_in_case_only() -> None:
    assert extract_choice("[[c]]", ["A", "C"], tie="c").choice == "tie"
    assert extract_choice("[[C]]", ["A", "C"], tie="c").choice == "C"


def test_labels_that_do_not_clash_are_still_found_in_any_case_and_width() -> None:
    assert extract_choice("[[b]]", ["A", "B"]).choice == "B"
    assert extract_choice("[[Ｂ]]", ["Ａ", "Ｂ"]).choice == "Ｂ"
    assert extract_scores('{"trajectory b": 3, "A": 4}', ["a", "B"], scale=(0, 10)).scores == {"a": 4, "B": 3}
    assert extract_ranking("B > a", ["A", "b"]).ranking == ("b", "A")


WORD = st.text("aAbBmM019+ＡＢéÉ _-", min_size=1, max_size=3).map(str.strip).filter(bool)


@given(st.lists(WORD, min_size=2, max_size=4, unique=True), st.data(), st.sampled_from(SAYS[:9]))
def test_of_any_labels_only_the_one_that_is_written_is_read(labels: list[str], data: st.DataObject, says: str) -> None:
    winner, loser = data.draw(st.permutations(labels))[:2]
    choice = extract_choice(says.format(w=winner, l=loser), labels, tie="none of them").choice
    assert choice in (winner, None)
