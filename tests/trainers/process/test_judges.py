"""What may be given as a judge, and that it is built once."""

from __future__ import annotations

import pytest

import calipers
from calipers.errors import ConfigError
from calipers.trainers.process.judges import as_judge

built: list[calipers.Judge] = []


def judge() -> calipers.Judge:
    built.append(calipers.Judge("embedded"))
    return built[-1]


def no_judge() -> str:
    return "embedded"


def test_a_name_or_a_function_is_made_a_judge_once_and_a_judge_is_itself() -> None:
    assert as_judge(judge) is as_judge(judge)
    assert len(built) == 1
    assert as_judge("embedded") is as_judge("embedded")
    assert as_judge(built[0]) is built[0]


def test_several_names_are_a_panel() -> None:
    names = ["embedded", "vllm/m@http://127.0.0.1:9/v1"]
    assert as_judge(names) is as_judge(tuple(names))
    assert [one.judge for one in as_judge(names).settings.judges] == names


def test_anything_else_is_refused_with_the_remedy() -> None:
    with pytest.raises(ConfigError, match="judge: it is a int; give a judge's name such as"):
        as_judge(4)  # type: ignore[arg-type]
    with pytest.raises(
        ConfigError, match=r"no_judge\(\) returned a str; .* a function without arguments that returns a Judge"
    ):
        as_judge(no_judge)  # type: ignore[arg-type]
