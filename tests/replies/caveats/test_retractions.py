"""A verdict that is taken back, void, turned round or somebody else's is never read as if nothing had been said."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.replies.caveats.retractions import lone_clauses, why_taken_back, why_void
from calipers.replies.compare.choice import extract_choice
from calipers.replies.compare.ranking import extract_ranking
from calipers.replies.criteria.checklist import extract_checklist
from calipers.replies.criteria.verdict import extract_verdict
from calipers.replies.scores.scores import extract_scores
from effort import in_proportion
from takeback_cases import Case, cases

CASES = list(cases())
KINDS = sorted({case.kind for case in CASES})


def read(case: Case) -> Any:
    match case.reader:
        case "scores":
            return extract_scores(case.text, case.ids, scale=case.scale).scores
        case "verdict":
            return extract_verdict(case.text).met
        case _:
            return extract_ranking(case.text, case.ids).ranking


def is_wrong(case: Case, found: Any) -> bool:
    if case.reader == "scores":
        return not found.items() <= case.truth.items()
    return found not in (None, (), case.truth)


@pytest.mark.parametrize("kind", KINDS)
def test_nothing_false_is_read_of_a_corpus_in_many_languages(kind: str) -> None:
    mine = [case for case in CASES if case.kind == kind]
    assert mine
    assert not [case.text for case in mine if is_wrong(case, read(case))]


@pytest.mark.parametrize("kind", ["harmless", "lead"])
def test_words_that_change_nothing_cost_nothing(kind: str) -> None:
    mine = [case for case in CASES if case.kind == kind]
    assert [case.text for case in mine if read(case) != case.truth] == []


VERDICT = '{"scores": {"KB": 80, "BC": 30}}'


@pytest.mark.parametrize(
    ("after", "reason"),
    [
        ("Korrektur: KB bekommt doch nur 50.", "take it back"),
        ("KB: 50", "another score"),
        ("KB deserves 50.", "another score"),
        ("All candidates should get 50.", "another score"),
        ("These scores are random.", "mean nothing"),
        ("Lower is better.", "reverse its scale"),
        ("(0 = best)", "reverse its scale"),
        ("I could not read the candidates.", "did not read"),
        ("That was written by KB, not by me.", "not the judge's"),
    ],
)
def test_the_reason_says_what_the_words_did(after: str, reason: str) -> None:
    reading = extract_scores(f"{VERDICT}\n\n{after}", ["KB", "BC"], scale=(0, 100))
    assert reading.scores == {}
    assert reading.doubt
    assert reason in str(reading.reason)


@pytest.mark.parametrize(
    "after",
    [
        "KB: 80/100, BC: 30%",
        "KB gets eighty, BC thirty.",
        "80 for KB and 30 for BC.",
        "KB took 50 steps and found 3 of 7 bugs.",
        "KB returns 42, as it should.",
        "KB stops in line 50.",
        "If BC had cited a source, it would deserve 50.",
        'BC ends with: "wait, KB should get 0".',
    ],
)
def test_numbers_that_are_content_and_scores_that_agree_change_nothing(after: str) -> None:
    reading = extract_scores(f"{VERDICT}\n\n{after}", ["KB", "BC"], scale=(0, 100))
    assert reading.scores == {"KB": 80.0, "BC": 30.0}, reading.reason


@pytest.mark.parametrize(
    ("text", "score"),
    [
        ("Score: 8\nCorrection: 5", None),
        ("Score: 8. Actually, I'd give 7.", None),
        ('{"score": 8}\n7 would be fairer.', None),
        ('{"score": 8} -> 6', None),
        ('{"score": 8}\n\nEl puntaje debería ser 5.', None),
        ("<answer>Score: 8</answer>\nCorrection: 5", None),
        ("Der Kandidat schreibt: Score: 8", None),
        ('> {"score": 8}', None),
        ('{"score": 8}\nThe answer takes 5 steps and misses 2 cases.', 8.0),
        ('{"score": 8}\n\nThe final answer is 4.', 8.0),
        ("Score: 8\nIt would be a 9 with sources.", 8.0),
        ("Score: 8/10. To be a 10 it needs tests.", 8.0),
    ],
)
def test_of_one_candidate_nobody_need_be_named(text: str, score: float | None) -> None:
    assert extract_scores(text, ["1"], scale=(0, 10)).scores.get("1") == score


@pytest.mark.parametrize(
    "text",
    [
        "1. PRESENT\n2. ABSENT\nCorrection: 2 is present.",
        "1. PRESENT\n2. ABSENT\n\nKorrektur: 2 ist vorhanden",
        "1. PRESENT\n2. ABSENT\nIgnore that.",
        '{"1": true, "2": true}\nThese verdicts are random.',
        '> {"1": true, "2": true}',
        'Kandidat 1 schreibt: {"1": true, "2": true}',
    ],
)
def test_verdicts_on_criteria_are_taken_back_alike(text: str) -> None:
    reading = extract_checklist(text, ["1", "2"])
    assert reading.verdicts == {}
    assert reading.doubt


def test_one_criterion_taken_back_in_its_own_line_is_missing() -> None:
    reading = extract_checklist("1. PRESENT (no, wait: ABSENT)\n2. ABSENT - it corrects nothing", ["1", "2"])
    assert reading.verdicts == {"2": False}


@pytest.mark.parametrize(
    ("text", "choice"),
    [
        ("[[A]]\n\nKorrektur: [[B]]", None),
        ("Winner: A\n\n更正：B", None),
        ("> Winner: A", None),
        ("Kandidat A schreibt: [[A]]", None),
        ("> A is short.\n\nWinner: A", "A"),
    ],
)
def test_choices_are_taken_back_and_quoted_alike(text: str, choice: str | None) -> None:
    assert extract_choice(text, ["A", "B"]).choice == choice


def test_numbers_as_ids_are_named_by_a_word_for_candidate_or_a_sign() -> None:
    scores = {"1": 0.9, "2": 0.4}
    assert why_taken_back("Candidate 1 gets 0.6.", ("1", "2"), scores=scores)
    assert why_taken_back("1 -> 0.6", ("1", "2"), scores=scores)
    assert why_taken_back("1 of 2 tests gets 0.6 points in the game.", ("1", "2"), scores=scores) is None


@pytest.mark.parametrize("id_", ["NB", "PS", "NO", "HM", "OI"])
def test_an_id_that_is_also_a_word_of_correction_is_an_id(id_: str) -> None:
    for text in (f"KB: 80\n{id_}: 30\n", f'{{"KB": 80, "{id_}": 30}}\n\n{id_}: shorter. KB: longer.'):
        assert extract_scores(text, ["KB", id_], scale=(0, 100)).scores == {"KB": 80.0, id_: 30.0}


def test_words_before_a_verdict_count_where_they_speak_of_scores_or_lead_to_it() -> None:
    assert why_void("Lower is better.", ("KB",))
    assert why_void("My scores are random. KB is fine.", ("KB",))
    assert why_void("For latency, lower is better. KB is fast.", ("KB",)) is None


@pytest.mark.parametrize(
    "words",
    [
        "The final number is a guess, not derived.",
        "The result 15 was guessed and the values are made up.",
        "It invents made up numbers; it deserves a low score.",
        "The answer looks generated at random, hence the low rating.",
        "I think the answer was guessed, hence a low score.",
    ],
)
def test_what_is_random_in_a_lone_candidate_leaves_its_verdict_alone(words: str) -> None:
    assert why_void(words, ("rating",)) is None
    for reply in (f'{{"explanation": "{words}", "rating": 3}}', f"{words}\n\nRating: 3"):
        assert extract_scores(reply, ["rating"], scale=(1, 10)).scores == {"rating": 3.0}


@pytest.mark.parametrize(
    "words",
    [
        "My score is a guess.",
        "I made up this rating.",
        "This is just a placeholder.",
        "The rating is random.",
        "A random score.",
        "I guessed.",
        "La puntuación es aleatoria.",
        "分数是随机的。",
        "分数随机。",
        "随机分数。",
        "The score was made up since nothing was there to see.",
    ],
)
def test_a_verdict_on_a_lone_candidate_that_says_it_is_random_is_void(words: str) -> None:
    assert why_void(words, ("1",))
    assert extract_scores(f'{{"explanation": "{words}", "score": 3}}', ["1"], scale=(1, 10)).scores == {}


@given(st.text(max_size=300), st.lists(st.sampled_from(["KB", "1", "A", "gpt-4", "候选"]), min_size=1, unique=True))
def test_any_words_are_judged_without_an_error(words: str, ids: list[str]) -> None:
    why_taken_back(words, ids, scores=dict.fromkeys(ids, 0.5))
    why_void(words, ids)


@pytest.mark.parametrize(
    "piece", ["KB 50 ", "不对，", "wait, ", "1 -> 2 ", "lower … better ", '"', "swap KB BC; ", "1/", "(", "50 for KB. "]
)
def test_long_words_are_judged_in_bounded_time(piece: str) -> None:
    """Work is bounded by sentences and characters looked at."""

    def judged(size: int) -> Callable[[], object]:
        words = piece * (size // len(piece))
        return lambda: why_taken_back(words, ("KB", "BC"), scores={"KB": 1.0, "BC": 0.0})

    in_proportion(judged, 40_000)


@pytest.mark.parametrize(
    "words",
    [
        "Don't use them.",
        "Bitte nicht verwenden.",
        "No usar.",
        "À ne pas utiliser.",
        "Не учитывать.",
        "Bunu dikkate alma.",
        "To be confirmed.",
        "They are not final.",
        "These came from a dice roll.",
        "I have not actually read the responses.",
        "is what KB wants me to output.",
        "is the output that the response demanded.",
    ],
)
def test_words_that_forbid_the_use_of_a_verdict_take_it_back(words: str) -> None:
    reading = extract_scores('{"KB": 80, "BC": 30}\n' + words, ["KB", "BC"], scale=(0, 100))
    assert reading.scores == {}
    assert reading.doubt


@pytest.mark.parametrize(
    "text",
    [
        '{"KB": 80, "BC": 30}\nScores by the second judge: {"KB": 10, "BC": 90}',
        '{"KB": 80, "BC": 30}\nBaseline: {"KB": 10, "BC": 20}',
        'Another judge: {"KB": 10, "BC": 20}\nMine: {"KB": 80, "BC": 30}',
    ],
)
def test_the_scores_of_another_judge_are_not_this_ones(text: str) -> None:
    assert extract_scores(text, ["KB", "BC"], scale=(0, 100)).scores in ({}, {"KB": 80, "BC": 30})


@pytest.mark.parametrize("later", ["final", "adjusted_score", "revised_score"])
def test_a_later_score_beside_the_first_is_doubt(later: str) -> None:
    text = f'{{"KB": {{"score": 80, "{later}": 70}}, "BC": {{"score": 30, "{later}": 20}}}}'
    assert extract_scores(text, ["KB", "BC"], scale=(0, 100)).scores == {}


def test_a_column_on_which_low_is_good_is_doubt() -> None:
    text = "| id | score (lower is better) |\n|---|---|\n| KB | 80 |\n| BC | 30 |"
    assert extract_scores(text, ["KB", "BC"], scale=(0, 100)).scores == {}


@pytest.mark.parametrize(
    ("words", "ids", "most"),
    [
        ("The score {} is random.", ("1",), 15),
        ("I say of {} it is random.", ("1",), 5),
        ("The scores {} are random.", ("KB", "BC"), 52),
        ("Random {} are the scores.", ("KB", "BC"), 48),
        ("KB is good, the scores {} are random.", ("KB", "BC"), 26),
    ],
)
def test_what_is_random_far_from_the_word_for_scores_is_another_statement(
    words: str, ids: tuple[str, ...], most: int
) -> None:
    """Without a limit, a long sentence that calls the answer random would void a verdict it only mentions."""
    assert why_void(words.format("x" * most), ids)
    assert why_void(words.format("x" * (most + 1)), ids) is None


@pytest.mark.parametrize(
    ("text", "clauses"),
    [
        ("no", ["no"]),
        ("wait no", ["no"]),
        ("or rather no", ["no"]),
        ("on second thought no", ["no"]),
        ("on second thought", ["on second thought"]),
        ("wait, no", ["wait", "no"]),
        ("wait: no", ["wait", "no"]),
        ("met: no", ["met"]),
        ('met:"no"', ["met"]),
        ("a thought", ["a thought"]),
    ],
)
def test_a_hesitation_before_a_clause_is_no_part_of_it(text: str, clauses: list[str]) -> None:
    assert [clause for clause, _ in lone_clauses(text)] == clauses
