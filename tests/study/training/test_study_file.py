"""A study's file: arms with ``vary``, and everything that is wrong with it in sentences with lines."""

from __future__ import annotations

import copy
import os
from collections.abc import Mapping
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from calipers.config.option import options_of
from calipers.errors import CalipersError, InputError
from calipers.study.reading import TomlFile, lines_of
from calipers.study.training.settings import (
    ArmTable,
    ClosedForm,
    Evaluation,
    JudgeTable,
    Pretraining,
    Size,
    Study,
    Training,
)
from calipers.study.training.study_file import read_study, scenario_names, scenario_text, study_of
from training_studies import NAME, content_of, study, study_of_text

WRONG: tuple[Any, ...] = (3, float("nan"), True, "x", "", ["a"], [[1]], {"a": 1}, 10**400)
PLACES: Mapping[tuple[str | int, ...], Any] = {
    (): Study, ("gpt",): Size, ("closed_form",): ClosedForm, ("training",): Training, ("pretraining",): Pretraining,
    ("evaluation",): Evaluation, ("judges", "early"): JudgeTable, ("arms", 0): ArmTable,
}  # fmt: skip


def told(content: dict[str, Any]) -> str:
    """What is wrong with a study's file, or its name."""
    try:
        study_of(TomlFile(NAME, "", content))
    except CalipersError as error:
        return str(error)
    return NAME


def test_a_value_of_any_type_at_any_key_is_taken_or_a_sentence():
    for place, options in PLACES.items():
        names = [option.name for option in options_of(options)] + (["judges", "arms"] if not place else [])
        for key, value in product(names, WRONG):
            content = copy.deepcopy(content_of({}, {"against": "arm 1"}))
            table: Any = content
            for part in place:
                table = table[part] if isinstance(part, int) else table.setdefault(part, {})
            table[key] = value
            assert NAME in told(content), (place, key, value)


def test_every_study_of_calipers_can_be_run_with_both_policies():
    for name, policy in product(scenario_names(), (None, "closed-form")):
        found = read_study(name, policy=policy, seeds=2).study
        assert found.title
        assert {arm.seeds for arm in found.arms} == {2}
        assert {"true", "placebo"} <= {arm.table.control for arm in found.arms} | {"true", "placebo"}


def test_vary_makes_an_arm_for_each_combination_and_pairs_it_with_the_same_one():
    found = study(
        {"name": "content", "vary": {"judge": ["true", "early"]}},
        {"name": "arrival", "against": "content", "order": "arrival", "vary": {"judge": ["true", "early"]}},
        {"name": "all", "against": "content true", "vary": {"options.orders": [1, 2], "training.kl": [0.0, 0.1]}},
    )
    assert {arm.name: arm.against for arm in found.arms} == {
        "content true": "",
        "content early": "",
        "arrival true": "content true",
        "arrival early": "content early",
        **{f"all {orders} {kl}": "content true" for orders in (1, 2) for kl in (0.0, 0.1)},
    }
    last = found.arms[-1]
    assert (last.options["orders"], last.training.kl, last.training.prompts) == (2, 0.1, 3)


def test_what_is_wrong_is_said_at_once_with_its_line():
    with pytest.raises(InputError) as error:
        study_of_text(
            'setps = 3\n[training]\nkl = -1\n[judges.a]\nvices = 3\n[[arms]]\nname = "one"\njudge = "b"\n'
            '[[arms]]\nname = "../../one"\njudge = "a"\nagainst = "noone"\n'
        )
    said = {1: "unknown key 'setps'. Did you mean steps?", 3: "kl=-1", 5: "vices=3", 8: "no judge 'b'",
            10: "name='../../one'"}  # fmt: skip
    lines = str(error.value).splitlines()
    found = {line: any(f"{NAME}:{line}: " in one and words in one for one in lines) for line, words in said.items()}
    assert found == dict.fromkeys(said, True)
    assert any("no other arm 'noone'. Did you mean one?" in one for one in lines)


def test_two_arms_of_one_name_and_what_is_too_large_are_refused():
    for content, said in (
        (content_of({"name": "a"}, {"name": "a"}), "2 arms have the name 'a'"),
        (content_of({}, steps=100_000, seeds=100), "steps in all runs"),
        (content_of({"vary": {"seeds": [*range(1, 1200)]}}), "more than 1,000"),
        (content_of({}, gpt={"width": 30, "heads": 4}), "multiple of heads"),
        (content_of({}, closed_form={"length_mean": 30}), "must ascend"),
    ):
        assert said in told(content)


def test_a_file_is_read_and_an_unknown_name_is_refused(tmp_path: Path):
    (tmp_path / "mine.toml").write_text(scenario_text("failures"), encoding="utf-8")
    found = read_study(str(tmp_path / "mine.toml"), steps=2)
    assert (found.study.steps, found.folder) == (2, tmp_path)
    no_file = "no such file"
    for name, said in {"failurs": "Did you mean failures", "no.toml": no_file, str(tmp_path): no_file}.items():
        with pytest.raises(CalipersError, match=said):
            read_study(name)


TEXT = """\
a.b = 1
[x]
y = 1
[judges."one two"]
vices = [
  { kind = "N" },
]
[[arms]]
name = 'x#'
[[arms]]
name = "y"
[arms.training]
kl = 1
"""


def test_tables_and_keys_have_lines():
    assert lines_of(TEXT) == {
        ("a",): 1, ("a", "b"): 1, ("x",): 2, ("x", "y"): 3, ("judges",): 4, ("judges", "one two"): 4,
        ("judges", "one two", "vices"): 5, ("arms",): 8, ("arms", 0): 8, ("arms", 0, "name"): 9, ("arms", 1): 10,
        ("arms", 1, "name"): 11, ("arms", 1, "training"): 12, ("arms", 1, "training", "kl"): 13,
    }  # fmt: skip


def test_names_can_be_those_of_folders():
    sound = ["content early", "reliability, 4 x 0.5", "own gpt-5.4", "correlation -0.5"]
    wrong: list[Any] = ["../../x", "a/b", "a\\b", ".env", "a.", "", "x" * 101, "a\nb", 3]

    def is_sound(name: Any) -> bool:
        file = TomlFile("f", "", {})
        file.require_name(name, "arms")
        return not file.problems

    assert [name for name in sound + wrong if is_sound(name)] == sound


def test_what_is_no_sound_file_is_refused(tmp_path: Path):
    wrong = {"text": b"a = ", "bytes": b"\xff\xfe", "deep": b"a = " + b"[" * 5000, "digits": b"a = " + b"1" * 5000}
    for name, content in wrong.items():
        (tmp_path / name).write_bytes(content)
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "large").write_bytes(b"#" * (2**20 + 1))
    (tmp_path / "loop").symlink_to(tmp_path / "loop")
    for name in ("text", "bytes", "deep", "digits", "pipe", "large", "loop", "missing", "."):
        with pytest.raises(InputError) as error:
            TomlFile.read(tmp_path / name)
        assert str(tmp_path) in str(error.value), name
