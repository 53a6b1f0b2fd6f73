"""What a rewrite adds is found whatever answers are worth and lists do; what cannot be told apart is unknown."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from calipers.calibration.records import Key, Record
from calipers.calibration.series import Frame
from calipers.study.comparison.answers import CellAnswers, Rewritten
from calipers.study.comparison.preferences import Preferences, TextFeatures, preferences
from calipers.study.comparison.rewrites import REWRITES
from calipers.study.comparison.variants import rewritten_answers, variants_of
from calipers.testing.features import TEXT_FEATURES
from compared_groups import compared_groups

GROUPS = compared_groups(16, 4)
FRAME = Frame.of(GROUPS)


def _found(
    adds: Mapping[str, float], *, noise: float = 0.0, seed: int = 0, per_doubling: float = 0.0, mode: str = "listwise",
    halves: bool = True,
) -> Preferences:  # fmt: skip
    """The preferences of a judge that adds ``adds`` for rewrites, with levels of answers and lists drawn at random."""
    drawn = np.random.default_rng(seed)
    key = Key("j", mode, None, None, None)  # type: ignore[arg-type]
    texts = {name: rewritten_answers(name, GROUPS, wrong_below=None) for name in adds}
    measured = TextFeatures(FRAME, texts)
    cell = CellAnswers("j", key)
    for row, group in enumerate(GROUPS):
        worth = drawn.uniform(0.3, 0.6, len(group.trajectories))
        ids = [one.id for one in group.trajectories]
        shown = [("", frozenset[str]())]
        shown += [
            (name, one.rewritten) for name in adds for one in variants_of(group, name, texts[name], halves=halves)
        ]
        for rewrite, chosen in shown:
            level = drawn.uniform(-0.1, 0.1) if mode == "listwise" else 0.0
            length = measured.of(row, rewrite, chosen)[:, TEXT_FEATURES.index("length")] - 8
            scores = {
                name: float(worth[place] + level + adds.get(rewrite, 0) * (name in chosen)
                            + per_doubling * length[place] + drawn.normal(0, noise))
                for place, name in enumerate(ids)
            }  # fmt: skip
            record = Record(group.group_id, key, tuple(ids), 0, scores=scores, scale=(0.0, 1.0))
            if rewrite:
                cell.rewritten.append(Rewritten(rewrite, chosen, record))
            else:
                cell.records.append(record)
    return preferences(cell, measured)


def test_the_sizes_of_all_effects_are_found_exactly_without_noise() -> None:
    adds = {"verbose": 0.1, "sycophantic": -0.05, "formatted": 0.0}
    found = _found(adds)
    assert {name: found.rewrites[name].value for name in adds} == pytest.approx(adds, abs=1e-9)


def test_a_preference_for_length_is_told_from_one_for_the_rewrites_that_lengthen() -> None:
    found = _found(dict.fromkeys(("verbose", "sycophantic", "confident", "formatted"), 0.0), per_doubling=0.04)
    assert found.per_unit["length"].value == pytest.approx(0.04, abs=1e-9)
    for name in ("markdown", "confidence", "flattery"):
        assert found.per_unit[name].value == pytest.approx(0, abs=1e-9)
    assert (found.rewrites["verbose"].value or 0) > 0.04
    assert found.changes["sycophantic"] == 3


def test_a_list_that_is_rewritten_as_a_whole_shows_nothing() -> None:
    found = _found({"verbose": 0.1}, halves=False)
    assert found.rewrites["verbose"].value is None
    assert found.rewrites["verbose"].reason


def test_answers_that_are_judged_alone_may_all_be_rewritten() -> None:
    found = _found({"verbose": 0.1}, mode="pointwise", halves=False)
    assert found.rewrites["verbose"].value == pytest.approx(0.1, abs=1e-9)


def test_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    covered = [_found({"formatted": 0.03}, noise=0.1, seed=seed).rewrites["formatted"] for seed in range(60)]
    assert 0.85 <= np.mean([one.covers(0.03) for one in covered]) <= 1.0
    assert np.mean([one.covers(0.0) for one in covered]) < 0.85


def test_a_rewrite_that_nobody_was_asked_about_is_unknown() -> None:
    texts = {"verbose": rewritten_answers("verbose", GROUPS, wrong_below=None)}
    found = preferences(CellAnswers("j", Key("j", "listwise", None, None, None)), TextFeatures(FRAME, texts))
    assert found.rewrites["verbose"].value is None
    assert all(one.value is None for one in found.per_unit.values())


def test_every_built_in_rewrite_is_known() -> None:
    assert set(REWRITES) == {"verbose", "sycophantic", "confident", "confident_wrong", "formatted"}
