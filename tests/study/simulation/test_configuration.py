"""Configurations: what a file says is what runs, and every problem is reported before the first step."""

from __future__ import annotations

from pathlib import Path

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
        ('[[arms]]\nname = "a"\ntreatment = { ties = 1 }', "ties rest on standard errors"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }]', "panel must be a list of at least two tables"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }, { noize = 1 }]', "panel: judge 2: unknown key 'noize'"),
        ('[[arms]]\nname = "a"\npanel = [{ noise = 1 }, { levels = 1 }]', "panel: judge 2: a scale has at least 2"),
    ],
)
def test_a_setting_that_cannot_work_is_named(tmp_path: Path, text: str, words: str) -> None:
    assert any(words in one for one in refused(tmp_path, text))


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
