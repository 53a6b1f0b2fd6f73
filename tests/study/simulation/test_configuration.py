"""Configurations: what a file says is what runs, and every problem is reported before the first step."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calipers.config.option import options_of
from calipers.errors import ConfigError
from calipers.study.simulation.configuration import (
    TABLES,
    read_simulation,
    scenario_names,
    scenario_text,
    settings_as_tables,
    simulation_from,
)
from calipers.study.simulation.policy import Policy
from calipers.study.simulation.settings import Arm
from calipers.study.simulation.template import settings_text


def refused(tmp_path: Path, text: str) -> list[str]:
    """The problems that a file's error lists."""
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(ConfigError) as caught:
        read_simulation(str(path))
    problems = str(caught.value).split("\n  ")
    if len(problems) > 1:
        first = problems.pop(0)
        assert first == f"{path}: it cannot be run, {len(problems)} problems:"
    assert all(one.startswith(f"{path}:") for one in problems)
    return problems


@pytest.mark.parametrize("name", scenario_names())
def test_every_scenario_can_be_run_and_pairs_its_arms(name: str) -> None:
    simulation = read_simulation(name)
    assert simulation.title
    assert len(simulation.arms) > 1
    assert any(arm.against for arm in simulation.arms)


def test_tables_hold_for_all_arms_and_an_arm_changes_single_keys(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        'steps = 7\n[judge]\nnoise = 0.5\nlength = 0.1\n[grpo]\nsize = 4\n[[arms]]\nname = "a"\n'
        '[[arms]]\nname = "b"\nagainst = "a"\njudge = { length = -0.1 }\n',
        encoding="utf-8",
    )
    found = read_simulation(str(path), seeds=3, steps=None)
    assert (found.steps, found.seeds) == (7, 3)
    assert [(arm.judge.noise, arm.judge.length, arm.grpo.size) for arm in found.arms] == [(0.5, 0.1, 4), (0.5, -0.1, 4)]
    assert found.arms[1].against == "a"


def test_all_problems_are_listed_at_once(tmp_path: Path) -> None:
    problems = refused(
        tmp_path,
        "stepz = 3\nseeds = 0\n[judge]\nnoize = 1\n[policy]\nquality = [0.5, 1.0]\n"
        '[[arms]]\nname = "a"\njudge = { noise = -1 }\n[[arms]]\nname = "a"\nagainst = "c"\n[[arms]]\ngrpo = 3\n',
    )
    told = "\n".join(problems)
    for words in (
        "unknown key 'stepz'. Did you mean steps?",
        "seeds=0: it must be a whole number from 1",
        "study.toml:4: [judge]: unknown key 'noize'. Did you mean noise?",
        "study.toml:9: arm 'a': judge: noise=-1: it must be a number from 0",
        "arm 3: policy: quality must be a list of numbers above 0 and below 1",
        "two arms have the name 'a'",
        "there is no other arm 'c' to pair it with",
        "arm 3: it needs a name",
        "arm 3: grpo must be a table",
    ):
        assert words in told, words
    assert len(problems) == len(set(problems))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "at least one [[arms]] table"),
        ("arms = 3", "at least one [[arms]] table"),
        ('[[arms]]\nname = "a"\n[policy]\nshares = [1, 2]', "as many as quality has"),
        ('[[arms]]\nname = "a"\n[policy]\nquality = "good"', "quality must be a list"),
        ('[[arms]]\nname = "a"\n[policy]\nlength_mean = 30.0', "length_mean must be above length_floor and below"),
        ('[[arms]]\nname = "a"\n[grpo]\nscale = "all"', "it must be one of group, batch, none"),
        ('[[arms]]\nname = "a"\n[judge]\nnoise = inf', "noise=inf"),
        ('figures = ["trooth"]\n[[arms]]\nname = "a"', "there is no figure 'trooth'. Did you mean truth?"),
        (
            'seeds = 5000\nsteps = 2000\n[[arms]]\nname = "a"',
            "5,005,000 points, and one file holds 300,000: raise every",
        ),
        ('figures = 3\n[[arms]]\nname = "a"', "figures must be a list of names"),
        ('[[arms]]\nname = "a"\njudge = { levels = 1 }', "a scale has at least 2 levels"),
        ('[[arms]]\nname = "a"\njudge = { tpr = 0.5 }', "tpr and fpr belong together"),
        ('[[arms]]\nname = "a"\njudge = { tpr = 0.5, fpr = 0.2, noise = 1 }', "leave noise, levels and thresholds out"),
        ('[[arms]]\nname = "a"\njudge = { thresholds = [0.5] }', "scores must be one more than thresholds"),
        ('[[arms]]\nname = "a"\njudge = { thresholds = [0.5, 0.2], scores = [0, 1, 2] }', "must be ascending"),
        ('[[arms]]\nname = "a"\njudge = { thresholds = "all" }', "must be lists of numbers"),
        (
            '[[arms]]\nname = "a"\njudge = { levels = 3, thresholds = [0.5], scores = [0, 1] }',
            "both say which scores are given",
        ),
        ('[[arms]]\nname = "a"\nasking = { orders = 17 }', "a group of 8 has 16 orders, not 17"),
        ('[[arms]]\nname = "a"\ntreatment = { ties = 1 }', "standard errors, for ties, are simulated for one judge"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }]', "panel must be a list of at least two tables"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }, { noize = 1 }]', "panel: judge 2: unknown key 'noize'"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }, { levels = 1 }]', "panel: judge 2: a scale has at least 2"),
    ],
)
def test_a_setting_that_cannot_work_is_named(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in one for one in refused(tmp_path, text))


@pytest.mark.parametrize("huge", ["1e7", "1e154", "1e308", "-1e308", str(10**300)])
@pytest.mark.parametrize(("table", "kind"), TABLES.items(), ids=str)
def test_a_number_that_arithmetic_cannot_hold_is_refused_with_its_range(
    tmp_path: Path, table: str, kind: Any, huge: str
) -> None:
    """Without bounds, sums of squares overflow: to a traceback, or to a result that is wrong and looks right."""
    numbers = [option for option in options_of(kind) if option.kind in ("number", "whole")]
    assert all(option.low is not None and option.high is not None for option in numbers)
    for option in numbers:
        (problem,) = refused(tmp_path, f'[[arms]]\nname = "a"\n\n[arms.{table}]\n{option.name} = {huge}\n')
        assert problem.startswith(f"{tmp_path / 'study.toml'}:5: arm 'a': {table}: {option.name}=")
        assert f"it must be {option.range}" in problem


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        ("[policy]\nquality = [\n0.5]\nshares = [1, 2]", 4, "shares must be a list of positive numbers"),
        ("[policy]\nshares = [1e308, 1, 1]", 2, "shares must be a list of numbers from 1e-06 to 1e+06"),
        ("[policy]\n\nlength_mean = 30.0", 3, "length_mean must be above"),
        ("[judge]\n\nthresholds = [0.5]", 3, "scores must be one more than thresholds"),
        ("[judge]\nthresholds = [0.5]\nscores = [0]", 3, "scores must be one more than thresholds"),
        ("[judge]\nthresholds = [1e308]\nscores = [0, 1]", 2, "numbers from -1e+06 to 1e+06"),
        ("[judge]\nnoise = 1e-300", 2, "noise=1e-300 is lost in rounding: 0, or at least 1e-06"),
        ("[judge]\nfpr = 0.5", 2, "tpr and fpr belong together"),
        ("[asking]\norders = 40", 2, "a group of 8 has 16 orders, not 40"),
        ("[treatment]\n\nlength_control = 1", 3, "standard errors, for length_control, are simulated for one judge"),
        ("[grpo]\ngroups = 4096\nsize = 256", 2, "a step would hold 8,589,934,592 numbers, and 40,000,000 fit"),
        ("[policy]\nquality = [" + "0.5, " * 101 + "]", 2, "101 kinds of prompts; at most 100"),
        ("[policy]\nlength_tail = 'normal'\nlength_mean = 10\nlength_sd = 0.1", 3, "length is no feature"),
        ("[policy]\nlength_mean = 3.00001", 2, "length is no feature"),
    ],
)
def test_a_problem_of_several_keys_is_at_the_line_of_its_key(tmp_path: Path, text: str, line: int, words: str) -> None:
    problems = refused(tmp_path, f'{text}\n[[arms]]\nname = "a"\n')
    assert [one for one in problems if f"study.toml:{line}: " in one and words in one], problems


@pytest.mark.parametrize(
    ("text", "words"),
    [
        (
            "steps = 100000\nseeds = 10000\nevery = 100000\n[asking]\nsamples = 64\n[judge]\nnoise = 1",
            "scores, and at most",
        ),
        ('figures = ["truth", "truth"]', "figures: truth is named 2 times"),
    ],
)
def test_what_multiplies_is_bounded_before_the_first_step(tmp_path: Path, text: str, words: str) -> None:
    (problem,) = refused(tmp_path, f'{text}\n[[arms]]\nname = "a"\n')
    assert words in problem
    assert "study.toml:1: " in problem


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("policy.length_sd", 2.0),
        ("judge.obeys", 0.5),
        ("judge.failures_by_length", 1.0),
        ("judge.fails", '"group"'),
        ("judge.weight", 2.0),
        ("asking.arrival", 0.5),
        ("asking.order", '"arrival"'),
        ("asking.turning", '"rotated"'),
        ("asking.reasks", 2),
        ("asking.samples", 2),
        ("asking.orders", 2),
        ("treatment.failures", '"zero"'),
        ("treatment.length_within", 2.0),
        ("treatment.panel", '"mean"'),
        ("grpo.clip", 0.1),
        ("grpo.divergence", '"plain"'),
    ],
)
def test_a_key_that_changes_nothing_is_refused_in_an_arm_and_for_all_arms(
    tmp_path: Path, key: str, value: object
) -> None:
    table, _, name = key.partition(".")
    (problem,) = refused(tmp_path, f'[[arms]]\nname = "a"\n{key} = {value}\n')
    assert f"study.toml:3: arm 'a': {table}: {name} changes nothing: " in problem
    (problem,) = refused(tmp_path, f'{key} = {value}\n[[arms]]\nname = "a"\n')
    assert f"study.toml:1: [{table}]: {name} changes nothing: " in problem
    assert problem.endswith(", in every arm; leave it out")


def test_a_key_that_changes_nothing_in_verdicts_undivided_rewards_and_panels_is_refused(tmp_path: Path) -> None:
    arm = '[[arms]]\nname = "a"\n'
    (problem,) = refused(tmp_path, arm + "judge = { tpr = 0.7, fpr = 0.2, gain = 2.0 }")
    assert "gain changes nothing: tpr and fpr say what quality adds" in problem
    (problem,) = refused(tmp_path, arm + 'grpo = { scale = "none", epsilon = 0.1 }')
    assert "epsilon changes nothing" in problem
    (problem,) = refused(tmp_path, arm + "panel = [\n{ noise = 1 },\n{ obeys = 0.5 }]")
    assert "study.toml:5: arm 'a': panel: judge 2: obeys changes nothing" in problem


def test_a_key_for_all_arms_may_change_nothing_in_some(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    path.write_text(
        '[judge]\nobeys = 0.5\nslope = 0.1\n[asking]\narrival = 0.5\n[[arms]]\nname = "a"\n'
        '[[arms]]\nname = "b"\njudge = { injection = 1.0 }\nasking = { order = "arrival" }\n',
        encoding="utf-8",
    )
    assert len(read_simulation(str(path)).arms) == 2


@pytest.mark.parametrize("name", ["a\\nb", "a\\u001b[31m", "a\\u0000", " ", "\\u2028", "x" * 101])
def test_a_name_that_would_split_a_table_is_refused(tmp_path: Path, name: str) -> None:
    (problem,) = refused(tmp_path, f'[[arms]]\nname = "{name}"\n')
    assert "study.toml:2: arm " in problem
    assert problem.isprintable()


@pytest.mark.parametrize(
    ("tail", "mean", "cap", "sd"),
    [
        ("normal", 4.2, 24, 0.5),
        ("normal", 1900.0, 2000, 4.0),
        ("normal", 1000.0, 2000, 300.0),
        ("geometric", 3.5, 24, 4.0),
        ("geometric", 1990.0, 2000, 4.0),
        ("pareto", 3.5, 24, 4.0),
        ("pareto", 1500.0, 2000, 4.0),
    ],
)
def test_lengths_have_the_mean_that_was_asked_for(tail: str, mean: float, cap: int, sd: float) -> None:
    """With a mean far away, in standard deviations, the policy silently had another one."""
    policy = {"length_tail": tail, "length_mean": mean, "length_cap": cap} | ({"length_sd": sd} if sd != 4.0 else {})
    arm = simulation_from({"arms": [{"name": "a", "policy": policy}]}, source="test").arms[0]
    assert Policy(arm.policy).mean_length == pytest.approx(mean)


def test_what_is_neither_a_file_nor_a_scenario_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match=r"lenght: there is no such file, and no scenario.*Did you mean length\?"):
        read_simulation("lenght")
    with pytest.raises(ConfigError, match="is no scenario"):
        scenario_text("nothing of the kind")
    (tmp_path / "bad.toml").write_text("= 3", encoding="utf-8")
    with pytest.raises(ConfigError, match="not valid TOML"):
        read_simulation(str(tmp_path / "bad.toml"))
    (tmp_path / "bytes.toml").write_bytes(b"\xff\xfe")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_simulation(str(tmp_path / "bytes.toml"))


def test_recorded_settings_describe_the_same_arm() -> None:
    arm = next(arm for arm in read_simulation("panel").arms if arm.panel)
    again = simulation_from({"arms": [{"name": "again", **settings_as_tables(arm)}]}, source="test").arms[0]
    assert settings_as_tables(again) == settings_as_tables(arm)


def test_the_judges_of_a_panel_begin_with_the_arm_s_own_judge() -> None:
    tables = {"judge": {"noise": 0.5}, "arms": [{"name": "a", "judge": {"length": 0.1}, "panel": [{}, {"noise": 1}]}]}
    arm = simulation_from(tables, source="test").arms[0]
    assert [(judge.noise, judge.length) for judge in arm.judges] == [(0.5, 0.1), (1, 0.1)]


def test_the_file_of_all_settings_is_valid_and_has_every_default(tmp_path: Path) -> None:
    path = tmp_path / "all.toml"
    path.write_text(settings_text(), encoding="utf-8")
    found = read_simulation(str(path))
    assert [(arm.name, arm.against) for arm in found.arms] == [("control", ""), ("noisy", "control")]
    assert settings_as_tables(found.arms[0]) == settings_as_tables(Arm("control"))
    assert (found.steps, found.seeds, found.every) == (200, 20, 2)
    for kind in TABLES.values():
        for option in options_of(kind):
            assert f"\n{option.name} = " in settings_text() or f"\n# {option.name} = " in settings_text(), option.name
