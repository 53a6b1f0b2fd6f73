"""A training study's TOML: arms with all their settings, variants and their counterparts, and every problem at once."""

from __future__ import annotations

import json
import tomllib
from pathlib import Path
from typing import Any

import pytest

from calipers.errors import ConfigError
from calipers.study.training.judges import judge_for, truth_for
from calipers.study.training.matrix import runs_of
from calipers.study.training.rewarding import Rewarder, Tally
from calipers.study.training.settings import Training
from calipers.study.training.simulated import NOT_RANDOM
from calipers.study.training.study_file import read_study, scenario_names, scenario_text, study_from
from training_studies import arm, batch, study


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
        "arm 'c': training: kl=-1: it must be a number from 0 to 1e+06",
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
        ({"audit": {"judge": "true", "every": 0}}, "[audit]: every=0: it must be a whole number from 1 to 1e+06"),
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


FILE = """\
seeds = 2

[judges.true]

[judges.own]
vices = [
    { kind = "Noise", sd = 0.1 },
    { kind = "PositionBias", strength = "strong" },
    { kind = "LengthBias", per_doubling = 1e154 },
]
quality = [0.7, 0.2]
options = { ties = 1.0, orderz = 2 }

[judges.panel]
panel = [
    "true",
    "tru",
]

[[arms]]
name = "a"
judge = "own"

[arms.options]
orders = 0

[[arms]]
name = "b"
judge = "true"
vary = { "options.orders" = [1, 0],
    "training.kl" = [0.0] }

[[arms]]
name = "c"
judge = "panel"

[[arms]]
name = "d"
judge = "true"
[arms.training]
kl = 1e300
"""


def test_each_problem_is_at_the_line_of_its_key(tmp_path: Path):
    file = tmp_path / "mine.toml"
    file.write_text(FILE.replace('orders" = [1, 0],\n   ', 'orders" = [1, 0],'), encoding="utf-8")
    with pytest.raises(ConfigError) as error:
        read_study(str(file))
    said = str(error.value).splitlines()[1:]
    expected = (
        (8, "arm 'a': judge 'own': vice 2: PositionBias strength='strong': it must be a number from -1e+06 to 1e+06"),
        (9, "arm 'a': judge 'own': vice 3: LengthBias per_doubling=1e+154: it must be a number from"),
        (11, "arm 'a': judge 'own': quality=[0.7, 0.2]: the wrong response comes first"),
        (12, "arm 'a': judge 'own': unknown option 'orderz'"),
        (17, "[judges.panel]: panel: there is no judge 'tru'. Did you mean true?"),
        (25, "arm 'a': judge 'own': orders=0"),
        (30, "arm 'b 0 0.0': judge 'true': orders=0"),
        (40, "arm 'd': training: kl=1e+300: it must be a number from 0 to 1e+06"),
    )
    for line, words in expected:
        assert [one for one in said if one.startswith(f"  {file}:{line}: {words}")], (line, words, said)
    assert len(said) == len(expected)


def alone(row: dict[str, Any], **content: Any) -> str:
    """The one problem of a study with this arm."""
    arms = [{"name": "a", "judge": "true", **row}]
    judges = content.pop("judges", {"true": {}, "noisy": {"vices": [{"kind": "Noise", "sd": 0.1}]}})
    (found,) = problems({"seeds": 2, "judges": judges, "arms": arms, **content})
    return found


@pytest.mark.parametrize(
    ("row", "content", "problem"),
    [
        ({"jitter": 1.0}, {}, "arm 'a': jitter changes nothing"),
        ({"correlation": 0.5}, {}, "arm 'a': correlation changes nothing"),
        ({"order": "arrival", "options": {"protocol": "pointwise"}}, {}, "arm 'a': order changes nothing"),
        ({"learn": 4, "options": {"protocol": "pointwise"}}, {}, "arm 'a': learn changes nothing"),
        ({"learn": 4, "options": {"experience": False}}, {}, "arm 'a': learn changes nothing"),
        ({"training": {"clip": 0.1}}, {}, "arm 'a': training.clip changes nothing"),
        ({}, {"training": {"clip": 0.1}}, "[training]: clip changes nothing"),
        ({}, {"shared_noise": True}, "shared_noise changes nothing"),
        ({"vary": {}}, {}, "arm 'a': vary: it has no key"),
        ({"vary": {"name": ["b"]}}, {}, "arm 'a': vary: name cannot be varied"),
        ({"vary": {"against": ["b"]}}, {}, "arm 'a': vary: against cannot be varied"),
        ({"vary": {"options": [{}]}}, {}, "arm 'a': vary: options cannot be varied: vary one option"),
        (
            {"judge": "asked"},
            {"judges": {"asked": {"model": "embedded", "quality": [0.1, 0.2]}}},
            "arm 'a': judge 'asked': quality is for judges with vices: embedded reads the answers",
        ),
        (
            {"judge": "both"},
            {"judges": {"true": {}, "both": {"panel": ["true", "true"]}}},
            "arm 'a': judge 'both': panel: true is named 2 times, and each time gives the same answers",
        ),
        (
            {"judge": "both"},
            {"judges": {"asked": {"model": "embedded"}, "both": {"panel": ["asked", "asked"]}}},
            "arm 'a': judge 'both': embedded is in the panel twice",
        ),
    ],
)
def test_a_key_that_changes_nothing_is_refused(row: dict[str, Any], content: dict[str, Any], problem: str):
    assert alone(row, **content).startswith(problem)


@pytest.mark.parametrize("right", [[0.9, 0.5], [0.9, 0.5, 1.5], [0.9, 0.5, True], 0.5])
def test_shares_of_right_answers_are_three_from_0_to_1(right: object):
    assert "it must be three numbers from 0 to 1" in alone({}, pretraining={"right": right})


def test_a_control_of_arrival_may_say_how_its_rollouts_arrived():
    made = study(
        {"name": "content", "jitter": 1.0}, {"name": "arrival", "order": "arrival", "jitter": 1.0, "against": "content"}
    )
    assert [arm.table.jitter for arm in made.arms] == [1.0, 1.0]


def test_a_noisy_judge_may_be_in_a_panel_twice():
    judges = {"noisy": {"vices": [{"kind": "Noise", "sd": 0.1}]}, "both": {"panel": ["noisy", "noisy"]}}
    assert len(study({"judge": "both"}, judges=judges).arms[0].members) == 2


def test_vices_that_are_said_to_draw_nothing_draw_nothing():
    """A judge with them answers alike with any seed; so a second one in a panel changes nothing."""
    values: dict[str, dict[str, Any]] = {
        "Coarse": {"levels": 3},
        "LengthBias": {"per_doubling": 0.1},
        "Levels": {"scores": [0, 1], "thresholds": [0.5]},
        "PairLevels": {"scores": [0, 1], "thresholds": [0.5]},
        "PositionBias": {"strength": 0.1},
        "Preference": {"feature": "length", "per_unit": 0.1},
    }
    for kind in sorted(NOT_RANDOM):
        judge = {"vices": [{"kind": kind, **values.get(kind, {})}]}
        judges = {"twin": judge, "both": {"panel": ["twin", "twin"]}}
        assert "named 2 times" in alone({"judge": "both"}, judges=judges), kind
        made = arm(judge, options={"seed": 0})
        truth = truth_for(made.judge)
        found = []
        for seed in (0, 1):
            rewarder = Rewarder(judge_for(made, seed, truth), made, truth, Tally(), seed)
            found.append(rewarder.rewards(0, *batch(3, 4)).rewards)
        assert found[0] == found[1], kind


@pytest.mark.parametrize(
    ("row", "content", "problem"),
    [
        (
            {"vary": {f"training.{key}": [0.1] * 300 for key in ("kl", "clip", "max_norm")}},
            {},
            "arm 'a': 27,000,000 arms, with the variants by vary; a study may have 1,000",
        ),
        ({"learn": 10**9}, {}, "arm 'a': learn=1000000000: it must be a whole number from 0 to 4096"),
        ({"learn": 4096, "training": {"group_size": 32}}, {}, "arm 'a': learn=4096 times group_size=32 are 131,072"),
        ({"training": {"prompts": 4096, "group_size": 32}}, {}, "arm 'a': prompts=4096 times group_size=32 are"),
        ({}, {"steps": 1_000_000}, "2 runs of 1,000,000 steps: at most 1,000,000 steps in all"),
        ({}, {"pretraining": {"steps": 10**6, "batch": 65_536}}, "[pretraining]: 65,536,000,000 responses"),
        (
            {"judge": "p"},
            {"judges": {"true": {}, "p": {"panel": ["true"] * 65}}},
            "[judges.p]: panel: it has 65 judges; at most 64 are asked",
        ),
        (
            {"judge": "p"},
            {"judges": {"p": {"vices": [{"kind": "Ranked"}] * 101}}},
            "arm 'a': judge 'p': 101 vices; a judge may have 100",
        ),
    ],
)
def test_what_multiplies_is_bounded_before_anything_is_made(row: dict[str, Any], content: dict[str, Any], problem: str):
    assert alone(row, **content).startswith(problem)


@pytest.mark.parametrize(
    ("vice", "words"),
    [
        ({"kind": "Noise", "sd": "a"}, "Noise sd='a': it must be a number"),
        ({"kind": "Noise", "sd": -1}, "Noise sd must be a finite number of at least 0, not -1"),
        ({"kind": "Noise", "sd": 1e154}, "Noise sd=1e+154: it must be a number from -1e+06 to 1e+06"),
        ({"kind": "Noise", "sd": 0.1, "per": 3}, "Noise per=3: it must be a text"),
        ({"kind": "Coarse", "levels": 2.5}, "Coarse levels=2.5: it must be a whole number"),
        (
            {"kind": "Levels", "scores": [0, "b"], "thresholds": [1]},
            "Levels scores=[0, 'b']: it must be a list of numbers",
        ),
        ({"kind": "Sycophancy", "phrases": "great"}, "Sycophancy phrases='great': it must be a list of texts"),
        ({"kind": "Drift", "into": {"kind": "Noise", "sd": []}}, "vice 1, into: Noise sd=[]: it must be a number"),
        (
            {"kind": "Drift", "into": {"kind": "Inverted"}, "when": "x"},
            "Drift when is a function, which TOML cannot hold",
        ),
        ({"kind": "PositionBias", "strength": 0.1, "curve": "up"}, "curve='up': it must be one of first, last, ends"),
        ({"kind": "PositionBias", "strength": 0.1, "curve": [0, 1e308]}, "curve=[0, 1e+308]: it must be one of"),
        ({"kind": "Noise"}, "Noise cannot be made of these values"),
    ],
)
def test_a_field_of_a_vice_is_named_with_what_it_must_be(vice: dict[str, Any], words: str):
    assert words in alone({"judge": "j"}, judges={"j": {"vices": [vice]}})


@pytest.mark.parametrize("name", ["a\nb", "a\x1b[31m", "a\0", " ", "\u2028", "x" * 101])
def test_a_name_that_would_split_a_table_is_refused(name: str):
    assert alone({"name": name}).isprintable()
    judges: dict[str, Any] = {"true": {}, name: {}}
    assert alone({}, judges=judges).startswith("[judges]: ")


@pytest.mark.parametrize("path", ["a\0b", "a" * 5000, "a\0b.json", "a" * 5000 + ".json"])
@pytest.mark.parametrize("form", ["{}", "scripted:{}", "profile:{}", "replay:{}"])
def test_a_path_that_cannot_be_is_a_sentence(form: str, path: str):
    judge = {"profile": path} if form == "{}" else {"model": form.format(path)}
    assert alone({"judge": "j"}, judges={"j": judge}).startswith(("arm 'a': judge 'j': ", "[judges.j]: "))


RECORDS = Path(__file__).parents[3] / "docs" / "study-data"


@pytest.mark.parametrize("record", sorted(RECORDS.glob("*.json")), ids=lambda path: path.stem)
def test_a_recorded_study_can_still_be_run(record: Path):
    text = json.loads(record.read_text(encoding="utf-8"))["toml"]
    made = study_from(tomllib.loads(text), source=record.name)
    assert len(made.arms) > 1


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
        "arm 'b': judge 'two': vice 1: there is no vice 'Nois'. Did you mean Noise?",
        "arm 'b': judge 'two': vice 2: Noise has no 'sdd'.",
    )
    assert [one for one in found if not one.startswith(expected)] == []
    assert len(found) == len(expected)


def test_a_judge_that_no_arm_uses_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    judges = '[judges.used]\nvices = [{ kind = "Noise", sd = 0.1 }]\n[judges.spare]\nvices = [{ kind = "Nosie" }]\n'
    path.write_text(f'steps = 3\nseeds = 2\n[[arms]]\nname = "a"\njudge = "used"\n{judges}')
    with pytest.raises(ConfigError) as told:
        read_study(str(path))
    assert "study.toml:9: [judges.spare]: vice 1: there is no vice 'Nosie'. Did you mean Noise?" in str(told.value)


def test_the_judge_of_an_arm_that_is_wrong_is_checked(tmp_path: Path) -> None:
    path = tmp_path / "study.toml"
    judge = '[judges.one]\nvices = [{ kind = "Nosie" }]\n'
    path.write_text(f'steps = 3\nseeds = 2\n[[arms]]\nname = "a"\njudge = "one"\ncorrelation = 2\n{judge}')
    with pytest.raises(ConfigError) as told:
        read_study(str(path))
    assert "correlation=2" in str(told.value)
    assert "[judges.one]: vice 1: there is no vice 'Nosie'" in str(told.value)
