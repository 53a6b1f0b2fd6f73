"""A simulation's TOML file with every setting, its meaning, its range and its default, to be copied and changed."""

from __future__ import annotations

import textwrap
from typing import Any, Final

from calipers.config.option import Option, options_of
from calipers.study.simulation.configuration import TABLES
from calipers.study.simulation.settings import Simulation

_WIDTH: Final = 118
_ABOUT: Final = {
    "policy": "The first policy. Rates are probabilities.",
    "judge": "A judge as a model of scores. An opinion is gain times quality, 0 to 1, plus what is named here.",
    "asking": "How often and in which orders a group is shown.",
    "treatment": "What scores become before they reach the step.",
    "grpo": "The step of GRPO.",
}
_ARMS: Final = """\
# The cases that are compared. The tables above hold for all; an arm's own tables change single keys. Runs are paired
# with those of the arm named by against. panel = [{...}, {...}] has several judges, each of which begins with [judge].
[[arms]]
name = "control"

[[arms]]
name = "noisy"
against = "control"
judge = { noise = 0.5 }
"""


def settings_text() -> str:
    """Return a simulation's TOML with every setting at its default, and two arms to begin with."""
    parts = ["".join(_lines(option) for option in options_of(Simulation))]
    for table, kind in TABLES.items():
        settings: Any = kind
        rows = "".join(_lines(option) for option in options_of(settings))
        parts.append(f"# {_ABOUT[table]}\n[{table}]\n{rows}")
    return "\n".join([*parts, _ARMS])


def _lines(option: Option) -> str:
    choices = f" One of {', '.join(option.choices)}." if option.choices else ""
    limits = option.range.partition(" from ")[2] or option.range.partition(" above ")[2]
    allowed = f" ({option.range.removeprefix('a number ').removeprefix('a whole number ')})" if limits else ""
    comment = textwrap.fill(
        f"{option.help}{choices}{allowed}", _WIDTH, initial_indent="# ", subsequent_indent="# ", break_long_words=False
    )
    unset = option.default is None
    return f"{comment}\n{'# ' if unset else ''}{option.name} = {'0.5' if unset else _toml(option.default)}\n"


def _toml(value: Any) -> str:
    match value:
        case str():
            return f'"{value}"'
        case tuple() | list():
            return f"[{', '.join(map(_toml, value))}]"
        case _:
            return f"{value}"
