"""A training study's TOML: arms with all their settings, variants and their counterparts, and every problem at once."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.training.matrix import runs_of
from calipers.study.training.settings import Training
from calipers.study.training.study_file import read_study, scenario_names, scenario_text, study_from
from training_studies import study


def problems(text_or_content: Any) -> list[str]:
    with pytest.raises(ConfigError) as error:
        study_from(text_or_content, source="my.toml")
    lines = str(error.value).split("\n")
    if len(lines) > 1:
        first = lines.pop(0)
        assert first == f"my.toml: it cannot be run, {len(lines)} problems:"
    assert all(line.strip().startswith("my.toml: ") for line in lines)
    return [line.strip().removeprefix("my.toml: ") for line in lines]


def test_an_arm_has_the_studys_settings_and_its_own():
    made = study(
        {"judge": "true", "training": {"kl": 0.1}, "seeds": 2},
        {"against": "arm 1", "engine": "loop"},
        seeds=3,
        training={"prompts": 5, "group_size": 6},
    )
    one, other = made.arms
    assert one.training == Training(prompts=5, group_size=6, kl=0.1)
    assert other.training == Training(prompts=5, group_size=6)
    assert (one.seeds, other.seeds, other.against) == (2, 3, "arm 1")
    assert other.judge.vices is not None


def test_runs_are_made_seed_by_seed_so_that_pairs_are_whole():
    made = study({"seeds": 1}, {}, seeds=3)
    assert [(run.arm.name, run.seed) for run in runs_of(made) if run.arm] == [
        ("arm 1", 0),
        ("arm 2", 0),
        ("arm 2", 1),
        ("arm 2", 2),
    ]


def test_variants_are_paired_with_the_variant_that_has_the_same_values():
    made = study(
        {"name": "random", "vary": {"judge": ["true", "early"]}},
        {"name": "arrival", "order": "arrival", "against": "random"}
        | {"vary": {"options.orders": [1, 2], "judge": ["true", "early"], "training.kl": [0.0]}},
        {"name": "one", "against": "arrival 1 true 0.0"},
    )
    assert {arm.name: arm.against for arm in made.arms} == {
        "random true": "",
        "random early": "",
        "arrival 1 true 0.0": "random true",
        "arrival 1 early 0.0": "random early",
        "arrival 2 true 0.0": "random true",
        "arrival 2 early 0.0": "random early",
        "one": "arrival 1 true 0.0",
    }
    by_name = {arm.name: arm for arm in made.arms}
    varied = by_name["arrival 2 early 0.0"]
    assert (varied.options, varied.table.judge, varied.training.kl) == ({"orders": 2}, "early", 0.0)
    assert varied.table.order == "arrival"


def test_a_value_that_is_varied_replaces_the_arms_own():
    made = study({"options": {"orders": 3, "samples": 2}, "vary": {"options.orders": [1]}})
    assert made.arms[0].options == {"orders": 1, "samples": 2}


def test_every_problem_is_reported_at_once():
    found = problems(
        {
            "sedes": 3,
            "steps": 0,
            "policy": {"widht": 8},
            "training": {"loss": "mine"},
            "judges": {"a": {"vice": []}},
            "arms": [],
        }
    )
    assert found == [
        "unknown key 'sedes'. Did you mean seeds?",
        "steps=0: it must be a whole number from 1 to 1e+06",
        "[policy]: unknown key 'widht'. Did you mean width?",
        "[training]: loss='mine': it must be one of dr_grpo, dapo, grpo",
        "[judges.a]: unknown key 'vice'. Did you mean vices?",
        "arms: write at least one [[arms]] table with a name and a judge",
    ]


def test_problems_of_arms_name_the_arm():
    found = problems(
        {
            "seeds": 2,
            "judges": {"true": {}},
            "arms": [
                {"name": "a", "judge": "treu"},
                {"judge": "true", "ordr": "content"},
                {"name": "b", "judge": "true", "order": "random"},
                {"name": "c", "judge": "true", "training": {"kl": -1}},
                {"name": "d", "judge": "true", "vary": {"judge": "true"}},
                {"name": "e", "judge": "true", "options": 3},
                "f",
            ],
        }
    )
    assert found == [
        "arm 'a': there is no judge 'treu'. Did you mean true?",
        "arm 2: unknown key 'ordr'. Did you mean order?",
        "arm 2: it needs a name, a text",
        "arm 'b': order='random': it must be one of content, arrival",
        "arm 'c': training: kl=-1: it must be a number from 0",
        "arm 'd': vary: each key needs a list of values",
        "arm 'e': options must be a table",
        "arm 7: it must be a table",
    ]


def test_what_does_not_fit_together_is_reported_for_all_arms():
    found = problems(
        {
            "seeds": 3,
            "policy": {"width": 10, "heads": 4},
            "judges": {"true": {}},
            "trl": {"beta": 1},
            "arms": [
                {"name": "a", "judge": "true", "jitter": 1.0, "correlation": 0.5},
                {"name": "a", "judge": "true", "seeds": 4},
                {"name": "b/c", "judge": "true", "against": "none"},
                {"name": "d", "judge": "true", "seeds": 1, "against": "a"},
                {"name": "e  f", "judge": "true"},
                {"name": "e f", "judge": "true"},
            ],
        }
    )
    assert found == [
        "[policy]: width=10 must be a multiple of heads=4",
        "2 arms have the name 'a'",
        "arm 'e  f': another arm's name differs in spaces only",
        "arm 'e f': another arm's name differs in spaces only",
        "arm 'a': jitter and correlation both say how rollouts arrive: leave one of them out",
        "arm 'a': seeds=4 is more than the study's 3",
        "arm 'b/c': a name has at most 100 letters, digits, spaces and . , = + : - _",
        "arm 'b/c': there is no other arm 'none' to pair it with. Known: a, d, e  f, e f.",
        "arm 'd': it shares one seed with 'a', and a paired difference needs two or more",
        "[trl]: no arm has engine trl",
    ]


def test_weights_need_standard_errors():
    row = {"name": "a", "judge": "true", "weights": "reliability"}
    known: list[dict[str, Any]] = [{"options": {"orders": 2}}, {"options": {"resolve": 0.015}}, {"learn": 8}]
    for more in known:
        made = study_from({"judges": {"true": {}}, "arms": [{**row, **more}]}, source="my.toml")
        assert made.arms[0].table.weights == "reliability"
    found = problems({"judges": {"true": {}}, "arms": [{**row, "options": {"orders": 1, "samples": 1}}]})
    assert found == [
        (
            "arm 'a': weights = \"reliability\" needs standard errors, which one answer without history has not: "
            "set options = { orders = 2 }, resolve, or learn"
        )
    ]


def test_a_study_without_arms_says_what_to_write():
    assert problems({"judges": {}}) == ["arms: write at least one [[arms]] table with a name and a judge"]


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(ConfigError, match=r"no such file, and no training study of that name. Did you mean smoke\?"):
        read_study("smoke.")
    bad = tmp_path / "bad.toml"
    bad.write_text("seeds = ")
    with pytest.raises(ConfigError, match=r"bad\.toml: not valid TOML"):
        read_study(str(bad))
    bad.write_bytes(b"\xff")
    with pytest.raises(ConfigError, match=r"bad\.toml: cannot be read"):
        read_study(str(bad))
    with pytest.raises(ConfigError, match=r"Did you mean order\?"):
        scenario_text("ordr")


def test_flags_replace_the_files_numbers(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text('seeds = 3\nsteps = 9\n[judges.true]\n[[arms]]\nname = "a"\njudge = "true"\n')
    made, text = read_study(str(file), seeds=5, steps=None)
    assert (made.seeds, made.steps, made.arms[0].seeds) == (5, 9, 5)
    assert text == file.read_text()


def test_a_flag_for_fewer_seeds_holds_for_arms_with_their_own_number(tmp_path: Path):
    file = tmp_path / "mine.toml"
    rows = "".join(f'[[arms]]\nname = "{name}"\njudge = "true"\nseeds = {name}\n' for name in (2, 5))
    file.write_text(f"seeds = 9\n[judges.true]\n{rows}")
    assert [arm.seeds for arm in read_study(str(file), seeds=3)[0].arms] == [2, 3]
    assert [arm.seeds for arm in read_study(str(file), seeds=20)[0].arms] == [2, 5]


@pytest.mark.parametrize("name", scenario_names())
def test_the_studies_that_come_with_calipers_can_be_run(name: Any):
    made, text = read_study(name)
    assert text == scenario_text(name)
    assert made.title
    assert any(arm.against for arm in made.arms)
    assert {arm.table.control for arm in made.arms} == {None, "true", "placebo"}


def test_the_smoke_study_has_eleven_arms_and_three_seeds():
    made, _ = read_study("smoke")
    assert (len(made.arms), made.seeds) == (11, 3)


@pytest.mark.parametrize(
    ("tables", "problem"),
    [
        ({"audit": {"judge": "tru"}}, "[audit]: there is no judge 'tru'. Did you mean true?"),
        ({"audit": {}}, "[audit]: there is no judge ''. Known: early, true."),
        ({"audit": {"judge": "true", "every": 0}}, "[audit]: every=0: it must be a whole number from 1"),
        ({"audit": {"judge": "true", "samples": 1}}, "[audit]: unknown key 'samples'. Did you mean sample?"),
        ({"audit": {"judge": ["true"]}}, "[audit]: there is no judge ['true']. Did you mean true?"),
        ({"audit": 1}, "audit must be a table"),
        ({"stop": {"gap": -1}}, "[stop]: gap=-1: it must be a number from 0"),
        ({"stop": {"window": 2}}, "[stop]: it has no rule: set gap, fidelity, length or kl"),
    ],
)
def test_a_mistake_about_the_audit_is_one_sentence(tables: dict[str, Any], problem: str):
    with pytest.raises(ConfigError) as error:
        study({}, **tables)
    assert str(error.value) == f"test: {problem}"


def test_an_audit_judge_that_cannot_be_made_is_a_problem():
    judges = {"true": {}, "early": {}, "none": {"model": "no-such-provider/x"}}
    with pytest.raises(ConfigError, match=r"\[audit\]: judge 'none': "):
        study({}, judges=judges, audit={"judge": "none"})


@pytest.mark.parametrize("title", ["\x1b[31mred", "two\nlines"])
def test_a_title_is_one_line_that_is_safe_to_print(title: str):
    (problem,) = problems({"title": title, "judges": {"true": {}}, "arms": [{"name": "a", "judge": "true"}]})
    assert problem == f"title={title!r}: it must be one line without control characters"


def test_an_unknown_judge_hides_no_other_problem_and_causes_none():
    vices = [{"kind": "Nois", "sd": 0.05}, {"kind": "Noise", "sdd": 1}]
    found = problems(
        {
            "title": 3,
            "stop": {"gap": -1},
            "judges": {"true": {}, "two": {"vices": vices, "quality": [0, 5], "options": {"orderz": 1, "orders": 0}}},
            "arms": [
                {"name": "a", "judge": "treu", "vary": {"options.orders": [1, 2]}},
                {"name": "b", "judge": "two", "against": "a 1"},
                {"name": "b", "judge": "true", "engine": "x"},
                {"name": "c", "judge": "true", "width": 3},
            ],
        }
    )
    expected = (
        "title=3: it must be text",
        "[stop]: gap=-1",
        "arm 'a 1': there is no judge 'treu'. Did you mean true?",
        "arm 'a 2': there is no judge 'treu'. Did you mean true?",
        "arm 'b': engine='x': it must be one of loop, trl",
        "arm 'c': unknown key 'width'",
        "2 arms have the name 'b'",
        "arm 'b': judge 'two': quality=[0, 5]: it must be two numbers from 0 to 1",
        "arm 'b': judge 'two': unknown option 'orderz'. Did you mean orders?",
        "arm 'b': judge 'two': orders=0",
        "arm 'b': judge 'two': vice 1: there is no vice 'Nois'. Did you mean Noise?; vice 2: Noise has no 'sdd'.",
    )
    assert [one for one in found if not one.startswith(expected)] == []
    assert len(found) == len(expected)
