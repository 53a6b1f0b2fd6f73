"""A value of any type at any key of a study's TOML is a sentence for the user, and never a traceback."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator, Mapping
from typing import Any

import pytest

from calipers.config.option import options_of
from calipers.errors import CalipersError
from calipers.study.simulation.configuration import TABLES, simulation_from
from calipers.study.training.settings import (
    ArmTable,
    Audit,
    Evaluation,
    JudgeTable,
    Pretraining,
    Size,
    Training,
    TrainingStudy,
)
from calipers.study.training.study_file import study_from
from calipers.study.watching.rules import StopRules

WRONG: tuple[Any, ...] = (3, float("nan"), True, "x", "", ["a"], [[1]], {"a": 1})
STUDY = {
    "judges": {"asked": {"model": "openai/gpt-5-mini"}, "simulated": {"vices": []}},
    "arms": [
        {"name": "one", "judge": "asked"},
        {"name": "two", "judge": "asked", "against": "one"},
        {"name": "three", "judge": "simulated", "vary": {"seeds": [2, 3]}, "against": "two"},
    ],
}
PLACES: Mapping[tuple[str | int, ...], Any] = {
    (): TrainingStudy,
    ("policy",): Size,
    ("training",): Training,
    ("pretraining",): Pretraining,
    ("evaluation",): Evaluation,
    ("audit",): Audit,
    ("stop",): StopRules,
    ("judges", "asked"): JudgeTable,
    ("judges", "simulated"): JudgeTable,
    ("arms", 0): ArmTable,
    ("arms", 1): ArmTable,
    ("arms", 2): ArmTable,
}


def changed(content: Mapping[str, Any], place: tuple[str | int, ...], key: str, value: Any) -> dict[str, Any]:
    """The content of a file with another value at one key."""
    found: Any = copy.deepcopy(content)
    table = found
    for part in place:
        table = table[part] if isinstance(part, int) else table.setdefault(part, {})
    table[key] = value
    return found  # type: ignore[no-any-return]


def keys_of(place: tuple[str | int, ...], kind: Any) -> Iterator[str]:
    yield from (option.name for option in options_of(kind))
    if not place:
        yield from ("judges", "arms", "policy", "audit", "stop")


def said_by(read: Callable[[Mapping[str, Any]], object], content: Mapping[str, Any]) -> str:
    """The message for the user, if the content is refused."""
    try:
        read(content)
    except CalipersError as error:
        return str(error)
    return "study.toml: it can be run"


def train(content: Mapping[str, Any]) -> None:
    study_from(content, source="study.toml")


def simulate(content: Mapping[str, Any]) -> None:
    simulation_from(content, source="study.toml")


@pytest.mark.parametrize("place", PLACES, ids=str)
def test_training_refuses_what_they_cannot_use(place: tuple[str | int, ...]) -> None:
    for key in keys_of(place, PLACES[place]):
        for value in WRONG:
            content = changed(STUDY, place, key, value)
            assert said_by(train, content).startswith("study.toml: "), (place, key, value)


@pytest.mark.parametrize("place", [(), ("arms", 1)], ids=str)
def test_simulation_refuses_what_it_cannot_use(place: tuple[str | int, ...]) -> None:
    content = {"arms": [{"name": "a"}, {"name": "b", "against": "a"}]}
    own = [((), key) for key in ("name", "against", "panel", "steps", "figures", "title", "arms", *TABLES)]
    for table, key in [*own, *(((name,), key) for name, kind in TABLES.items() for key in keys_of((name,), kind))]:
        for value in WRONG:
            said = said_by(simulate, changed(content, (*place, *table), key, value))
            assert said.startswith("study.toml: "), (place, table, key, value)
