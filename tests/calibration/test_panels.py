"""Panels over recorded judgments."""

import random
from typing import Any

import pytest

from calipers.calibration import panels
from calipers.calibration.panels import PanelFigures, representative_series
from calipers.calibration.records import Key, Mode, as_record
from calipers.calibration.series import Frame, build_series
from calipers.inputs import as_group
from judged import gold_of, groups, rated, record

GROUPS = groups(200)


def figures(*records: dict[str, Any]) -> PanelFigures:
    frame = Frame.of(map(as_group, GROUPS))
    return panels.panel_figures(build_series(map(as_record, records), frame)[0], frame)


def key(judge: str, variant: str | None, temperature: float | None = None, criterion: str | None = None) -> Key:
    mode: Mode = "pointwise"
    return Key(judge, mode, variant, temperature, criterion)


def test_a_judge_is_represented_by_the_variant_most_judges_share():
    chosen = representative_series([key("a", "own"), key("a", "shared"), key("b", "shared"), key("c", "other")])
    assert {judge: one.prompt_variant for judge, one in chosen.items()} == {"a": "shared", "b": "shared", "c": "other"}


def test_then_by_the_highest_temperature_and_then_by_name():
    chosen = representative_series([key("a", "v", 0.0), key("a", "v", 1.0), key("b", "x"), key("b", "w")])
    assert chosen["a"].temperature == 1.0
    assert chosen["b"].prompt_variant == "w"


def test_variants_that_differ_in_criteria_count_once():
    """b's six criteria of its own variant do not make it the one most share."""
    keys = [key("a", "v"), key("b", "v"), *(key("b", "own", None, criterion) for criterion in "xyzuvw")]
    assert representative_series(keys)["b"].prompt_variant == "v"


def test_weights_favour_the_steady_judge_without_labels_and_beat_equal_ones():
    found = figures(
        *rated(GROUPS, "noisy", 3.0, calls=3),
        *rated(GROUPS, "fair", 0.8, calls=3),
        *rated(GROUPS, "good", 0.3, calls=3),
    )
    weights = dict(zip(found.members, found.weights, strict=True))
    assert weights["good"] > weights["fair"] > weights["noisy"]
    assert sum(weights.values()) == pytest.approx(1)
    assert found.advantage_fidelity is not None
    assert found.equal_weights_fidelity is not None
    assert found.advantage_fidelity > found.equal_weights_fidelity + 0.01
    assert found.gain_interval is not None
    assert found.gain_interval[0] > 0


def test_the_curve_starts_at_one_call_each_and_rises():
    found = figures(*rated(GROUPS, "a", 1.0, calls=3), *rated(GROUPS, "b", 1.0, calls=3))
    levels = [point.advantage_fidelity for point in found.by_calls]
    assert [point.calls_per_member for point in found.by_calls] == [1, 2, 3]
    assert levels[0] == found.advantage_fidelity
    assert levels == sorted(levels)


def test_the_best_member_is_asked_as_often_as_all_together():
    found = figures(*rated(GROUPS, "a", 0.5, calls=4), *rated(GROUPS, "b", 2.0, calls=4))
    assert found.best_member is not None
    assert (found.best_member.judge, found.best_member.calls) == ("a", 2)


def test_criteria_are_averaged():
    """Each criterion sees one half of the gold; together they see all of it."""
    said = [
        record(one, "j",
               {"scores": {m: value if (m in "ab") == (half == "x") else 0.0 for m, value in gold_of(one).items()}},
               criterion=half)
        for one in GROUPS
        for half in "xy"
    ]  # fmt: skip
    found = figures(*said)
    assert found.members == ("j",)
    assert found.advantage_fidelity == pytest.approx(1)


def test_scales_of_judges_do_not_matter():
    one = figures(*rated(GROUPS, "a", 1.0), *rated(GROUPS, "b", 1.0))
    stretched = [
        line | {"parsed": {"scores": {name: 50 + 100 * value for name, value in line["parsed"]["scores"].items()}}}
        for line in rated(GROUPS, "b", 1.0)
    ]
    other = figures(*rated(GROUPS, "a", 1.0), *stretched)
    assert one.advantage_fidelity == pytest.approx(other.advantage_fidelity)


def test_only_groups_all_members_judged_count():
    found = figures(*rated(GROUPS, "a", 1.0), *rated(GROUPS[:50], "b", 1.0))
    assert found.groups == 50


def test_judges_without_a_group_in_common_have_no_figures():
    found = figures(*rated(GROUPS[:10], "a", 1.0), *rated(GROUPS[10:], "b", 1.0))
    assert (found.members, found.weights) == (("a", "b"), (0.5, 0.5))
    assert (found.advantage_fidelity, found.by_calls, found.groups) == (None, (), 0)


def test_nobody_is_an_empty_panel():
    assert figures().members == ()


def scored(judge: str, errors: dict[str, float]) -> list[dict[str, Any]]:
    """Records of a judge whose error is given by group and member."""
    return [
        record(group, judge, {"scores": {name: gold + errors[f"{group['group_id']} {name}"] for name, gold in known}})
        for group in GROUPS
        if (known := gold_of(group).items())
    ]


def drawn(seed: int, shared: dict[str, float] | None = None, share: float = 0.0) -> dict[str, float]:
    generator = random.Random(f"errors {seed}")  # not those that gold is drawn from
    names = [f"{group['group_id']} {one['id']}" for group in GROUPS for one in group["trajectories"]]
    return {
        name: (1 - share) ** 0.5 * generator.gauss(0, 1) + share**0.5 * (shared or {}).get(name, 0.0) for name in names
    }


def test_judges_with_unrelated_errors_are_as_many_votes_as_they_are():
    found = figures(*(one for seed in (1, 2, 3) for one in scored(f"j{seed}", drawn(seed))))
    assert found.error_correlation == pytest.approx(0, abs=0.06)
    assert found.effective_votes == pytest.approx(3, abs=0.35)


def test_judges_that_share_half_of_their_errors_are_fewer_votes():
    common = drawn(0)
    found = figures(*(one for seed in (1, 2, 3) for one in scored(f"j{seed}", drawn(seed, common, 0.5))))
    assert found.error_correlation == pytest.approx(0.5, abs=0.1)
    assert found.effective_votes == pytest.approx(1.5, abs=0.2)


def test_twins_are_one_vote_and_one_judge_has_no_votes():
    same = drawn(1)
    assert figures(*scored("a", same), *scored("b", same)).effective_votes == pytest.approx(1)
    assert figures(*scored("a", same)).effective_votes is None
    assert figures(*scored("a", dict.fromkeys(same, 0.0)), *scored("b", same)).effective_votes is None
