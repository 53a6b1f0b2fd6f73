"""Judges are compared on the groups that all of them scored, silence is said, and folds keep prompts together."""

from __future__ import annotations

import tomllib
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.calibration import Calibration, calibrate
from calipers.calibration.comparable import FOLDS, MIN_GROUPS, common_groups, folds, prompts
from calipers.calibration.series import Frame
from calipers.inputs import as_group
from judged import gold_of, groups, rated, record

GROUPS = groups(40)
NONE = {"abstained": 0, "failed": 0, "unrecorded": 0}
HARD = {one["group_id"] for one in GROUPS[:8]}


def honest(name: str = "honest") -> list[dict[str, Any]]:
    """Right about easy groups, and the wrong way round about the hard ones."""
    signs = [-1 if one["group_id"] in HARD else 1 for one in GROUPS]
    return [
        record(one, name, {"scores": {who: sign * gold for who, gold in gold_of(one).items()}})
        for one, sign in zip(GROUPS, signs, strict=True)
    ]


def silent(name: str = "silent", **fields: Any) -> list[dict[str, Any]]:
    """As right about easy groups, and nothing about the hard ones."""
    said = [one for one in honest(name) if one["group_id"] not in HARD]
    return said + [one | {"parsed": None} | fields for one in honest(name) if one["group_id"] in HARD and fields]


def judge_of(found: Calibration, name: str) -> Any:
    return next(one for one in found.judges if one.judge == name)


def test_silence_about_hard_groups_buys_nothing_on_common_groups():
    found = calibrate(GROUPS, [*honest(), *silent()])
    one, other = judge_of(found, "honest"), judge_of(found, "silent")
    assert one.advantage_fidelity == pytest.approx(0.6)
    assert other.advantage_fidelity == pytest.approx(1.0)
    (pair,) = found.differences
    assert pair.difference == pytest.approx(0.0)
    assert pair.groups == 32
    assert (one.missing, other.missing) == (NONE, NONE | {"unrecorded": 8})


def test_what_is_missing_is_counted_by_why_and_found():
    cases: tuple[tuple[dict[str, Any], str], ...] = (
        ({}, "unrecorded"),
        ({"status": "abstained", "reason": "too long"}, "abstained"),
        ({"raw_text": "I would rather not."}, "failed"),
    )
    for fields, why in cases:
        found = calibrate(GROUPS, [*honest(), *silent(**fields)])
        assert judge_of(found, "silent").missing == NONE | {why: 8}
        (finding,) = [one for one in found.findings if one.kind == "missing_groups"]
        assert finding.judge == "silent"
        assert f"no score in 8 of 40 groups with gold (8 {why})" in finding.text


def test_the_recommended_judge_is_chosen_on_common_groups_and_its_silence_is_told():
    better = [one | {"judge": "better"} for one in rated(GROUPS, "better", 0.3) if one["group_id"] not in HARD]
    worse = list(rated(GROUPS, "worse", 2.0))
    words = calibrate(GROUPS, [*better, *worse]).recommendation
    assert tomllib.loads(words)["judge"] == ["better"]
    assert "# better gave no score in 8 of 40 groups: 8 unrecorded." in words


def test_a_judge_of_few_groups_is_set_aside_and_judges_without_common_groups_are_taken_as_they_are():
    few = [one | {"judge": "few"} for one in honest()[:4]]
    found = calibrate(GROUPS, [*rated(GROUPS, "a", 0.3), *rated(GROUPS, "b", 1.0), *few])
    assert found.to_dict()["search"]["common_groups"] == 40
    assert "# Not compared, because they scored too few groups: few." in found.recommendation
    halves = [one | {"judge": "first" if place < 20 else "second"} for place, one in enumerate(rated(GROUPS, "x", 0.5))]
    assert "each was compared on its own" in calibrate(GROUPS, halves).recommendation


def test_a_judge_that_is_not_for_training_is_never_recommended():
    for name in ("embedded", "scripted:replies.jsonl"):
        alone = calibrate(GROUPS, rated(GROUPS, name, 0.1)).recommendation
        assert tomllib.loads(alone) == {}
        assert f"{name} is for tests, not for training" in alone
        beside = calibrate(GROUPS, [*rated(GROUPS, name, 0.1), *rated(GROUPS, "model", 1.0)])
        assert tomllib.loads(beside.recommendation)["judge"] == ["model"]


# --- the rule ---------------------------------------------------------------------------------------------------------

tables = st.integers(1, 5).flatmap(
    lambda rows: st.lists(st.lists(st.booleans(), min_size=60, max_size=60), min_size=rows, max_size=rows)
)


@given(tables)
def test_compared_rows_know_every_common_group_and_there_are_enough(known: list[list[bool]]):
    table = np.where(np.array(known), 0.5, np.nan)
    found = common_groups(table)
    counts = (~np.isnan(table)).sum(axis=1)
    if found.shared:
        assert not np.isnan(table[np.ix_(found.rows, found.groups)]).any()
        assert found.groups.sum() >= min(MIN_GROUPS, counts.max() / 2)
        assert found.rows[counts.argmax()]
        assert all(kept or 2 * count < counts.max() for kept, count in zip(found.rows, counts, strict=True))
    else:
        assert found.rows.all()


def numbers(*groups: tuple[list[dict[str, Any]], list[dict[str, Any]]]) -> list[int]:
    """The number of the prompt of each group, from its context and what its members begin with."""
    every = []
    for n, (context, begin) in enumerate(groups):
        members = [{"id": name, "messages": [*begin, {"role": "assistant", "content": name}]} for name in "ab"]
        every.append(as_group({"group_id": f"g{n}", "context": context, "trajectories": members}))
    return [int(one) for one in prompts(Frame.of(every))]


def test_a_question_is_a_prompt_wherever_it_stands_and_shared_instructions_are_none():
    shared, asked = [{"role": "system", "content": "An airline's agent."}], [{"role": "user", "content": "Who?"}]
    assert numbers((shared, []), (shared, []), ([], []), ([], [])) == [0, 1, 2, 3]
    assert numbers(([], asked), ([], asked), (asked, [])) == [0, 0, 0]


@given(st.lists(st.integers(0, 30), min_size=10, max_size=200))
def test_no_prompt_is_in_two_folds_and_none_is_empty(sources: list[int]):
    found = folds(sources)
    if len(set(sources)) < FOLDS:
        assert found is None
        return
    assert found is not None
    assert set(found) == set(range(FOLDS))
    assert len({(source, int(fold)) for source, fold in zip(sources, found, strict=True)}) == len(set(sources))
