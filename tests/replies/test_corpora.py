"""On replies of real judges and on hostile ones nearly nothing is read wrongly, and most is read at once."""

from __future__ import annotations

import gzip
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest
from benchmarks.environment import recorded_data
from benchmarks.reading.__main__ import _choice_of, _recorded, grade

import reply_damage as damage
import reply_zoo as zoo
import takeback_cases as takebacks
from calipers.replies import extract_checklist, extract_choice, extract_ranking, extract_scores, extract_verdict

DATA = Path(recorded_data())


def test_recorded_replies_are_read_exactly_or_asked_again():
    counts = Counter(grade(extract_scores(text, ids, scale=scale), truth) for text, ids, scale, truth in _recorded())
    assert counts["WRONG"] == 0
    assert counts["exact"] >= 53


def test_the_zoo_is_hardly_ever_read_wrongly():
    rows = list(zoo.replies())
    graded = [grade(extract_scores(text, ids, scale=scale), truth) for text, ids, scale, truth in rows]
    wrong = [text for (text, *_), one in zip(rows, graded, strict=True) if one == "WRONG"]
    assert len(wrong) <= 1, wrong
    assert Counter(graded)["exact"] >= 193
    assert Counter(graded)["in part"] <= 20


@pytest.mark.slow
def test_verdicts_that_are_taken_back_or_quoted_are_hardly_ever_read():
    wrong = [case.text for case in takebacks.cases() if not takebacks.read(case)[1]]
    assert len(wrong) <= 12, wrong


@pytest.mark.data
@pytest.mark.skipif(not DATA.is_dir(), reason=f"no recorded data at {DATA}; set CALIPERS_DATA")
def test_recorded_choices_rankings_and_verdicts_are_read():
    counts: Counter[str] = Counter()
    for name in ("llmbar", "rankllm_listwise", "posbias_repeat", "tau2_airline", "openqa301"):
        with gzip.open(DATA / name / "replies.jsonl.gz", "rt", encoding="utf-8") as lines:
            for expected, found in map(_choice_of, map(json.loads, lines)):
                counts["exact" if expected == found else "missed" if found is None else "WRONG"] += 1
    assert counts["WRONG"] == 0
    assert counts["exact"] >= 385


@pytest.mark.parametrize(("damages", "least"), [(damage.TUNED, 205), (damage.UNSEEN, 155)], ids=["tuned", "unseen"])
def test_damaged_verdicts_are_read_rightly_or_not_at_all(damages: tuple[damage.Damage, ...], least: int):
    exact = 0
    for seed in range(300):
        sample = damage.damaged(seed, damages)
        scores = extract_scores(sample.text, sample.ids, scale=sample.scale).scores
        assert scores.items() <= {id_: float(score) for id_, score in sample.truth.items()}.items(), sample.text
        exact += len(scores) == len(sample.truth)
    assert exact >= least


def test_no_cut_of_a_verdict_gives_another_score():
    for seed in range(6):
        sample = damage.damaged(seed, most=0)
        for end in range(len(sample.text)):
            scores = extract_scores(sample.text[:end], sample.ids, scale=sample.scale).scores
            assert all(abs(sample.truth[id_] - score) < 1e-9 for id_, score in scores.items()), sample.text[:end]


@pytest.mark.slow
def test_texts_meant_to_hurt_take_little_time():
    readers: tuple[Callable[[str], object], ...] = (
        lambda text: extract_scores(text, ("1", "2", "3")),
        lambda text: extract_scores(text, ("1",), scale=(1, 5), format="prometheus"),
        lambda text: extract_checklist(text, ("1", "2")),
        extract_verdict,
        lambda text: extract_choice(text, ("A", "B")),
        lambda text: extract_ranking(text, ("1", "2", "3")),
    )
    slow = []
    for name, text in zoo.hostile():
        for number, read in enumerate(readers):
            start = time.process_time()
            read(text)
            took = time.process_time() - start
            if took > 0.8:
                slow.append(f"{name} {number}: {took:.2f} s")
    assert slow == []
