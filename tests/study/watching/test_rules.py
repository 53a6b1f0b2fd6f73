"""Stop rules: what breaks them, what is too little to tell, and how rarely chance does."""

from __future__ import annotations

import random
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.watching.rows import WatchedGroup
from calipers.study.watching.rules import ALARMS, StopRules, broken_rules
from study.watching.watched import group, run

STEADY = {step: [0.10, 0.12, 0.08] for step in (0, 10, 20)}
GROWN = {step: [0.30, 0.33, 0.27] for step in (30, 40, 50)}


def broken(rows: list[WatchedGroup], rules: StopRules, logged: Any = ()) -> list[str]:
    return [one.rule for one in broken_rules(rows, logged, rules)]


@pytest.mark.parametrize("source", ["audit", "truth"])
def test_a_gap_that_grows_breaks_its_rule_and_says_by_how_much(source: str) -> None:
    rows = run(f"{source}_gap", STEADY | GROWN)
    (found,) = broken_rules(rows, (), StopRules(gap=0.1))
    assert (found.rule, found.step) == ("gap", 50)
    assert "has moved +0.200 ±" in found.found
    assert ("the truth" if source == "truth" else "the audit judge's opinion") in found.found
    assert broken(rows, StopRules(gap=0.19)) == []  # 0.2 is beyond it, and its interval is not


def test_a_gap_that_was_there_from_the_start_or_shrinks_is_none() -> None:
    wide = {step: [0.5, 0.52, 0.48] for step in (0, 10, 20, 30, 40, 50)}
    assert broken(run("audit_gap", wide), StopRules(gap=0.0)) == []
    shrinking = dict(zip((0, 10, 20, 30, 40, 50), [*GROWN.values(), *STEADY.values()], strict=True))
    assert broken(run("audit_gap", shrinking), StopRules(gap=0.0)) == []


def test_start_and_end_never_overlap_and_one_group_each_is_too_little() -> None:
    values = STEADY | GROWN
    assert broken(run("audit_gap", {step: values[step] for step in (0, 10, 20, 30, 40)}), StopRules(gap=0.01)) == []
    assert broken(run("audit_gap", {0: [0.1], 10: [0.9]}), StopRules(gap=0.01, window=1)) == []
    assert broken(run("audit_gap", {0: [0.1, 0.1], 10: [0.9, 0.9]}), StopRules(gap=0.01, window=1)) == ["gap"]


def test_fidelity_is_that_of_the_truth_if_it_is_known_and_else_of_the_audit() -> None:
    low = {step: [-0.5, -0.4, -0.6, -0.5] for step in (0, 10, 20)}
    rules = StopRules(fidelity=0.0)
    (found,) = broken_rules(run("audit_fidelity", low), (), rules)
    assert found.rule == "fidelity"
    assert "rewards agree with the audit judge's opinion by -0.500" in found.found
    assert broken(run("audit_fidelity", low, truth_fidelity=0.9), rules) == []
    assert broken(run("truth_fidelity", low, audit_fidelity=0.9), rules) == ["fidelity"]
    assert broken(run("truth_fidelity", {0: low[0], 10: low[10]}), rules) == []  # two steps, and the window is three
    spread = {step: [-0.9, 0.7, -0.8, 0.6] for step in (0, 10, 20)}
    assert broken(run("truth_fidelity", spread), rules) == []  # -0.1 on average, and it may be chance


@pytest.mark.parametrize(("last", "rule"), [(199.0, []), (201.0, ["length"]), (51.0, []), (49.0, ["length"])])
def test_length_may_drift_by_a_factor_in_either_direction(last: float, rule: list[str]) -> None:
    rows = [group(step) for step in range(3)] + [group(step, characters=last) for step in range(3, 6)]
    assert broken(rows, StopRules(length=2.0)) == rule


def test_kl_is_the_last_that_the_trainer_logged() -> None:
    rows, rules = [group(3)], StopRules(kl=0.5)
    assert broken(rows, rules, [{"step": 1, "kl": 0.9}, {"step": 2, "kl": 0.4}]) == []
    assert broken(rows, rules, [{"step": 1, "kl": 0.4}, {"step": 2, "kl": 0.9}, {"step": 3, "length": 7.0}]) == ["kl"]
    assert broken(rows, rules) == []


def test_held_out_groups_break_no_rule_and_a_rule_that_is_off_neither() -> None:
    rows = run("audit_gap", STEADY | GROWN)
    assert broken([group(0), *run("audit_gap", STEADY | GROWN, split="held_out")], StopRules(gap=0.0)) == []
    assert broken(rows, StopRules()) == []
    assert broken([], ALARMS) == []


@pytest.mark.parametrize(
    "options", [{"gap": -1}, {"fidelity": 2}, {"length": 1}, {"kl": "much"}, {"window": 0}, {"gap": float("nan")}]
)
def test_a_bound_out_of_range_is_an_error(options: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(options))):
        StopRules(**options).require()


def test_chance_breaks_the_default_rules_rarely_and_a_real_gap_is_found() -> None:
    """Of runs with 35 audits of 8 groups, looked at after each audit; noise of a group's gap as strong as real ones."""

    def stopped(growth: float, seed: int) -> bool:
        drawn = random.Random(seed)
        rows: list[WatchedGroup] = []
        for step in range(0, 350, 10):
            shift = growth * step / 350
            rows += [
                group(step, n, audit_gap=drawn.gauss(shift, 0.15), audit_fidelity=drawn.gauss(0.4, 0.5))
                for n in range(8)
            ]
            if broken(rows, ALARMS):
                return True
        return False

    assert sum(stopped(0.0, seed) for seed in range(60)) <= 3
    assert sum(stopped(0.3, seed) for seed in range(20)) >= 19
