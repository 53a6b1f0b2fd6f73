"""Tables of a study's TOML: every problem is noted with the line on which it is written."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import pytest

from calipers.config.option import any_value, whole_number
from calipers.errors import ConfigError
from calipers.study.tables import Problem, Tables


@dataclass(frozen=True)
class Settings:
    steps: int = whole_number(3, "Steps.", low=1)
    name: str = any_value("", "A name.")


def tables(folder: Path, text: str) -> Tables:
    path = folder / "study.toml"
    path.write_text(text, encoding="utf-8")
    return Tables.read(path)


def test_a_table_becomes_settings(tmp_path: Path) -> None:
    found = tables(tmp_path, "steps = 5\n[inner]\nname = 'x'\n")
    assert found.made(Settings, also=("inner",)) == Settings(5)
    assert found.made(Settings, "inner") == Settings(name="x")
    assert found.made(Settings, "other") == Settings()
    found.require_none()


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("# a remark\nstep = 5\n", "study.toml:2: unknown key 'step'. Did you mean steps?"),
        ("steps = 0\n", "study.toml:1: steps=0"),
        ("name = 'x'\n\n[inner]  # a remark\nstep = 5\n", "study.toml:4: [inner]: unknown key 'step'"),
        ("inner.step = 5\n", "study.toml:1: [inner]: unknown key 'step'"),
        ("inner = { step = 5 }\n", "study.toml:1: [inner]: unknown key 'step'"),
        ("inner = 5\n", "study.toml:1: [inner]: it must be a table"),
        ('["inner"]\n"step" = 5\n', "study.toml:2: [inner]: unknown key 'step'"),
    ],
)
def test_a_problem_is_noted_with_its_line(tmp_path: Path, text: str, problem: str) -> None:
    found = tables(tmp_path, text)
    found.made(Settings, also=("inner",))
    found.made(Settings, "inner")
    with pytest.raises(ConfigError) as raised:
        found.require_none()
    assert problem in str(raised.value)


NESTED = """\
title = \"\"\"
[arms]
name = 1
\"\"\"

[judges."a.b"]
quality = [
    [0],
]

[[arms]]
name = "first"

[arms.options]
orders = 2

[[arms]]
name = "second arm"
options = { orders = 2 }

[[arms.panel]]
noise = 1

[[arms.panel]]
noise = 2

[other]
arms = 1
"""


@pytest.mark.parametrize(
    ("place", "line"),
    [
        (("title",), 1),
        (("judges", "a.b", "quality"), 7),
        (("arms", 0, "options", "orders"), 15),
        (("arms", "first", "options", "orders"), 15),
        (("arms", "first", "nothing"), 11),
        (("arms", "second arm 2", "options", "orders"), 19),
        (("arms", 1, "panel", 0, "noise"), 22),
        (("arms", 1, "panel", 1, "noise"), 25),
        (("other", "arms"), 28),
        (("nothing",), None),
    ],
)
def test_each_place_has_the_line_where_it_is_written(place: tuple[str | int, ...], line: int | None) -> None:
    found = Tables.parse(NESTED, "study.toml")
    assert found.located(Problem("wrong", place)) == f"study.toml{'' if line is None else f':{line}'}: wrong"


def test_a_table_has_a_name_for_people() -> None:
    found = Tables.parse(NESTED + "[[arms]]\n", "study.toml")
    assert found.where("judges", "a.b") == "[judges.a.b]"
    assert found.where("arms", 0, "options") == "arm 'first': options"
    assert found.where("arms", 1, "panel", 1) == "arm 'second arm': panel: judge 2"
    assert found.where("arms", 2) == "arm 3"
    assert found.where() == ""


def test_all_problems_are_listed_once(tmp_path: Path) -> None:
    found = tables(tmp_path, "a = 1\nb = 2\n")
    found.made(Settings)
    found.made(Settings)
    with pytest.raises(ConfigError, match=r"study\.toml: 2 problems:\n.*:1: .*\n.*:2: "):
        found.require_none()


@pytest.mark.parametrize(("content", "problem"), [(b"= 3", "not valid TOML"), (b"\xff\xfe", "it is not UTF-8 text")])
def test_a_file_that_is_no_toml_is_refused(tmp_path: Path, content: bytes, problem: str) -> None:
    (tmp_path / "study.toml").write_bytes(content)
    with pytest.raises(ConfigError, match=problem):
        Tables.read(tmp_path / "study.toml")
    with pytest.raises(ConfigError, match=r"none\.toml: cannot be read"):
        Tables.read(tmp_path / "none.toml")
