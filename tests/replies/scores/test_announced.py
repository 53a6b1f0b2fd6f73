"""Sentences about the scale of a whole reply: the judge's own, somebody else's, and none."""

from __future__ import annotations

import pytest

from calipers.replies.scores.announced import (
    Announced,
    agreed_scale,
    announced_scales,
    blank_announcements,
    breaks_off_in_scale,
    scale_of_bare_numbers,
    unless_largest_score,
)
from calipers.replies.scores.found import UNCLEAR, UPSIDE_DOWN, StatedScale
from calipers.replies.scores.names import Names

NAMES = Names(["KB", "BC"])
TEN = StatedScale(0.0, 10.0, both=False)


@pytest.mark.parametrize(
    "sentence",
    [
        "All scores are out of 10.", "Scores (/10):", "Maximum score: 10", "max_score: 10", "(out of 10)",
        "Scale of 10",
        "Alle Bewertungen von maximal 10 Punkten:", "Höchstpunktzahl: 10", "Notes sur 10 :", "Puntuaciones sobre 10:",
        "Pontuação máxima: 10", "Punteggi su 10:", "Scores van maximaal 10:", "Оценки по 10-балльной шкале:",
        "Максимальний бал: 10", "Oceny w skali do 10:", "Puanlar 10 üzerinden:", "Thang điểm 10:", "Skor maksimum: 10",
        "جميع الدرجات من 10:", "सभी अंक 10 में से हैं:", "评分（满分10分）：", "采用10分制：", "10点満点で採点しました。",
        "10점 만점 기준입니다.", "Poäng av 10:",
    ],
)  # fmt: skip
def test_a_top_is_heard_in_many_languages(sentence: str) -> None:
    assert [(one.scale, one.sure) for one in announced_scales(sentence, NAMES)] == [(TEN, True)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Scale: 1-5", "On a scale of 1 to 5:", "Rated from 1 to 5.", "I use a scale from 1 (worst) to 5 (best).",
        "scale: 1-5",
        "Skala: 1 bis 5", "Sur une échelle de 1 à 5 :", "En una escala del 1 al 5:", "Em uma escala de 1 a 5:",
        "Su una scala da 1 a 5:", "Op een schaal van 1 tot 5:", "По шкале от 1 до 5:", "За шкалою від 1 до 5:",
        "W skali od 1 do 5:", "1 ile 5 arasında bir ölçekte:", "Trên thang điểm từ 1 đến 5:", "Pada skala 1 sampai 5:",
        "على مقياس من 1 إلى 5:", "1 से 5 के पैमाने पर:", "评分标准为1到5分：", "以1-5分打分：", "1から5の尺度で評価：",
        "1점에서 5점 척도로 평가:", "På en skala från 1 till 5:", "## Scores (1-5)",
    ],
)  # fmt: skip
def test_both_ends_are_heard_in_many_languages(sentence: str) -> None:
    assert [(one.scale, one.sure) for one in announced_scales(sentence, NAMES)] == [(StatedScale(1.0, 5.0), True)]


@pytest.mark.parametrize(
    "sentence",
    [
        "Scale: 1 to 6, where 1 is the best.", "1 = best, 6 = worst", "Skala: 1 (sehr gut) bis 6 (ungenügend)",
        "Échelle de 1 (meilleur) à 6 (pire) :", "Шкала от 1 (лучшая) до 6 (худшая):", "评分1到6，1分最好，6分最差：",
        "1（最良）から6（最悪）の尺度：", "1(최고)~6(최저) 척도:", "Scale 1-6; lower is better.",
    ],
)  # fmt: skip
def test_a_scale_upside_down_is_heard(sentence: str) -> None:
    assert [one.scale for one in announced_scales(sentence, NAMES)] == [UPSIDE_DOWN]


@pytest.mark.parametrize(
    "sentence",
    [
        "I first thought of a 1-5 scale, but used 0-100 as asked.", "If you want, I can use a 1-10 scale.",
        "The agents could rate hotels on a scale of 1 to 5.", "KB is on a scale of 1 to 5.",
        "The user asked for a 1-5 scale.",
    ],
)  # fmt: skip
def test_a_scale_of_somebody_else_a_plan_or_one_candidate_is_not_sure(sentence: str) -> None:
    assert [one.sure for one in announced_scales(sentence, NAMES)] == [False]


@pytest.mark.parametrize(
    "sentence",
    [
        "It passes 8 out of 10 tests.", "KB: 8 out of 10", "Reviewed on 9/10/2024.", "The score is 8.", "a score of 8",
        "Score: 80%",
        "It scales to 10 users.", "It generated from 1 to 5 files.", "The match ended with a score of 1-3.",
        "5 checkpoints, 1 to 3 marked",
        '"All scores are out of 10"', "> All scores are out of 10.", "Ranks: 1 = best, 4 = worst",
        "| KB | 8 | Score (/10) |",
        "No numbers on any scale.", "得分: 满分10分，得8分",
    ],
)  # fmt: skip
def test_content_quotations_ranks_and_numbers_of_candidates_state_no_scale(sentence: str) -> None:
    assert announced_scales(sentence, NAMES) == []


def test_statements_are_blanked_and_lines_stay() -> None:
    text = "Scale: 1-5\nKB: 4\n\nMax score: 5\nBC: 2\n"
    cleaned = blank_announcements(text, announced_scales(text, NAMES))
    assert cleaned.split("\n")[1:] == ["KB: 4", "", " " * 12, "BC: 2", ""]
    assert len(cleaned) == len(text)


def test_statements_that_agree_are_one_and_others_are_doubt() -> None:
    assert agreed_scale([TEN, StatedScale(0.0, 10.0)]) == StatedScale(0.0, 10.0)
    assert agreed_scale([StatedScale(0.0, 10.0), StatedScale(1.0, 10.0)]) == UNCLEAR
    assert agreed_scale([TEN, UPSIDE_DOWN]) == UPSIDE_DOWN
    assert agreed_scale([]) is None


def test_a_mention_makes_only_numbers_that_fit_it_doubtful() -> None:
    mentioned = [Announced(StatedScale(1.0, 5.0), 0, 1, sure=False)]
    assert scale_of_bare_numbers(mentioned, [4.0, 2.0], (0, 100)) == UNCLEAR
    assert scale_of_bare_numbers(mentioned, [40.0, 2.0], (0, 100)) is None
    assert scale_of_bare_numbers(mentioned, [4.0, 2.0], (1, 5)) is None


def test_a_maximum_that_is_the_largest_score_may_be_a_statistic() -> None:
    top = StatedScale(0.0, 10.0, both=False, statistic=True)
    assert unless_largest_score(top, [10.0, 6.0]) == UNCLEAR
    assert unless_largest_score(top, [9.0, 6.0]) == top
    assert unless_largest_score(StatedScale(0.0, 83.0, both=False, statistic=True), [83.0, 6.0]) is None
    assert unless_largest_score(StatedScale(1.0, 10.0, statistic=True), [10.0, 6.0]) == StatedScale(1.0, 10.0)


@pytest.mark.parametrize("tail", ["\n(out of", "\nScores are on a", "\n\n(Skala von 1", "KB: 3 (scale"])
def test_words_about_a_scale_that_stop_break_off(tail: str) -> None:
    assert breaks_off_in_scale(tail)


@pytest.mark.parametrize(
    "tail", ["", "\n", "Scores are out of 10.", "KB: 80 (good)", "I hope this helps", "All scores are final."]
)
def test_other_ends_do_not_break_off(tail: str) -> None:
    assert not breaks_off_in_scale(tail)
