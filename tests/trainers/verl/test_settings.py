"""The calipers table of verl's configuration: what is read, what is refused, and what each worker's share is."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from calipers.errors import ConfigError
from calipers.trainers.verl.judging import CONCURRENCY, make_judge, read_settings


def test_a_judges_arguments_and_the_groups_are_told_apart() -> None:
    settings = read_settings({"judge": "embedded", "orders": 2, "min_group": 3, "reference": True})
    assert settings.judge == {"judge": "embedded", "orders": 2}
    assert (settings.min_group, settings.reference, settings.absolute) == (3, True, False)
    assert make_judge(settings).settings.orders == 2


@pytest.mark.parametrize(
    ("table", "sentence"),
    [
        (None, r"names no judge: add \+calipers.judge=openai/gpt-5-mini"),
        ({}, r"\+calipers.judge=None: it must be a judge's name"),
        ({"judge": "embedded", "ordres": 2}, r"\+calipers.ordres: unknown. Did you mean orders\?"),
        ({"judge": "embedded", "api_key": "x"}, "set keys in the environment of every node"),
        ({"judge": "embedded", "parse": "x"}, r"\+calipers.parse: this option is a Python object"),
        ({"judge": "embedded", "min_group": 2.5}, "min_group=2.5"),
        ({"judge": "embedded", "min_group": 1}, "min_group=1: a single rollout has nothing to be compared with"),
        ({"judge": "embedded", "reference": "yes"}, r"\+calipers.reference='yes': it must be true or false"),
        ({"judge": "embedded", "rules": "skip"}, r"rules='skip': it must be one of code, judge"),
        ({"judge": "embedded", "recipe": "verif"}, r"\+calipers.recipe: unknown"),
    ],
)
def test_a_table_that_cannot_work_is_one_sentence(table: Any, sentence: str) -> None:
    with pytest.raises(ConfigError, match=sentence):
        read_settings(table)


def test_a_judge_that_cannot_be_made_is_refused_before_any_call() -> None:
    with pytest.raises(ConfigError, match="OPENAI_API_KEY is not set"):
        make_judge(read_settings({"judge": "openai/gpt-5-mini"}))
    with pytest.raises(ConfigError, match="concurrency=-3"):
        make_judge(read_settings({"judge": "embedded", "concurrency": -3}), workers=8)


def test_limits_are_the_whole_runs_and_each_worker_has_its_share() -> None:
    assert make_judge(read_settings({"judge": "embedded"}), workers=8).concurrency == CONCURRENCY // 8
    assert make_judge(read_settings({"judge": "embedded", "concurrency": 4}), workers=8).concurrency == 1
    budget = {"calls": 800, "tokens": 1e6}
    make_judge(read_settings({"judge": "embedded", "budget": budget, "requests_per_minute": 80}), workers=8)
    assert budget == {"calls": 800, "tokens": 1e6}


@given(total=st.integers(1, 10_000), workers=st.integers(1, 64))
def test_workers_together_stay_within_the_runs_limit(total: int, workers: int) -> None:
    each = make_judge(read_settings({"judge": "embedded", "concurrency": total}), workers=workers).concurrency
    assert each >= 1
    assert each * workers <= max(total, workers)


def test_rules_make_a_judge_of_one_bit_and_fields_of_grading_are_kept() -> None:
    grading = make_judge(read_settings({"judge": "embedded", "rules": "code"})).settings.grading
    assert grading is not None
    assert grading.normaliser == "all_or_nothing"
    table = {"judge": "embedded", "rules": "code", "grading": {"mode": "per_criterion"}}
    grading = make_judge(read_settings(table)).settings.grading
    assert grading is not None
    assert (grading.mode, grading.normaliser) == ("per_criterion", "all_or_nothing")
