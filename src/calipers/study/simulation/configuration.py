"""A simulation's settings from TOML, and the scenarios that come with calipers.

The tables [policy], [judge] and [grpo] hold for all arms; each [[arms]] has a name, perhaps the arm it is paired with
(``against``), and tables with what differs. Every problem is reported at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final, NamedTuple

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError, InputError
from calipers.study.simulation.problems import problems_of_arm, problems_of_figures, problems_of_size
from calipers.study.simulation.profiled import settings_of_profile
from calipers.study.simulation.settings import (
    Arm,
    AskingSettings,
    GrpoSettings,
    JudgeSettings,
    PolicySettings,
    Simulation,
    TreatmentSettings,
)
from calipers.study.simulation.without_effect import differs_from_default, judge_without_effect, without_effect
from calipers.study.tables import Problem, Tables, is_file, problem_of_name
from calipers.study.toml_lines import value_at

TABLES: Final = {
    "policy": PolicySettings,
    "judge": JudgeSettings,
    "asking": AskingSettings,
    "treatment": TreatmentSettings,
    "grpo": GrpoSettings,
}
"""The tables of a file, by name."""
_OWN: Final = ("name", "against", "panel")


def scenario_names() -> list[str]:
    """Return the names of the scenarios that come with calipers."""
    folder = files("calipers.study.simulation") / "scenarios"
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


def scenario_text(name: str) -> str:
    """Return the TOML of a scenario that comes with calipers, to be read or changed.

    Raises ConfigError for an unknown name.
    """
    if name not in scenario_names():
        raise ConfigError(f"{name!r} is no scenario.{did_you_mean(name, scenario_names())}")
    return (files("calipers.study.simulation") / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def read_simulation(config: str, **changes: int | None) -> Simulation:
    """Return the simulation that a scenario's name or a TOML file describes.

    ``changes`` are steps, seeds and every, which replace the file's unless they are None. Raises ConfigError with all
    problems of the settings.
    """
    if config in scenario_names() and not is_file(Path(config)):
        tables = Tables.parse(scenario_text(config), f"scenario {config}")
    elif is_file(Path(config)):
        tables = Tables.read(Path(config))
    else:
        hint = did_you_mean(config, scenario_names())
        raise ConfigError(f"{config}: there is no such file, and no scenario of that name.{hint}")
    given = {name: value for name, value in changes.items() if value is not None}
    return _simulation(Tables({**tables.content, **given}, tables.source, tables.text))


def simulation_from(content: Mapping[str, Any], *, source: str) -> Simulation:
    """Return the simulation that the tables of a TOML file describe. Raises ConfigError with all problems."""
    return _simulation(Tables(content, source))


def _simulation(tables: Tables) -> Simulation:
    content = tables.content
    given = tables.values(Simulation, content, also={*TABLES, "arms"})
    shared = {name: _part(tables, kind, content.get(name, {}), name) for name, kind in TABLES.items()}
    rows = content.get("arms", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        tables.note("arms: write at least one [[arms]] table with a name", "arms")
        rows = []
    arms = [_arm(tables, row, number, shared) for number, row in enumerate(rows)]
    tables.problems += _problems_between(arms)
    simulation = replace(Simulation(tuple(arms)), **given)
    for problem in problems_of_figures(simulation.figures):
        tables.note(problem, "figures")
    if given.keys() == content.keys() & _keys(Simulation):
        tables.problems += (Problem(one, (key,)) for key, one in problems_of_size(simulation))
    if not tables.problems:
        tables.problems += _without_effect(tables, arms)
    tables.require_none(why="it cannot be run")
    return simulation


def _arm(tables: Tables, row: Mapping[str, Any], number: int, shared: Mapping[str, _Part]) -> Arm:
    place, name = ("arms", number), row.get("name")
    if problem := problem_of_name(name, "it"):
        tables.note(problem, *place, "name")
    if not isinstance(row.get("against", ""), str):
        tables.note("against must be the name of another arm", *place, "against")
    for key in row.keys() - {*_OWN, *TABLES}:
        tables.note(f"unknown key {key!r}.{did_you_mean(key, {*_OWN, *TABLES})}", *place, key)
    own = {table: _part(tables, kind, row.get(table, {}), *place, table) for table, kind in TABLES.items()}
    members = [
        _part(tables, JudgeSettings, member, *place, "panel", one)
        for one, member in enumerate(_panel(tables, row, *place))
    ]
    made: dict[str, Any] = {
        table: kind(**{**shared[table].values, **own[table].values}) for table, kind in TABLES.items()
    }
    judge = {**shared["judge"].values, **own["judge"].values}
    panel = tuple(JudgeSettings(**{**judge, **member.values}) for member in members)
    arm = Arm(str(name or ""), str(row.get("against", "")), panel=panel, **made)
    if all(part.fits for part in (*shared.values(), *own.values(), *members)):
        for where, problem in problems_of_arm(arm):
            # A key that the arm does not write is one of the tables for all arms, or a default of the arm's.
            table_only = where[0] not in row and where[0] in tables.content
            shared_key = value_at(row, where) is None and value_at(tables.content, where) is not None
            written = where if table_only or shared_key else (*place, *where)
            tables.problems.append(Problem(f"{tables.where(*place)}: {problem}", written))
    return arm


def _without_effect(tables: Tables, arms: Sequence[Arm]) -> Iterator[Problem]:
    """Yield the settings in the file that change nothing: in their arm, or, where they are for all arms, in any."""
    found = [{(table, key): why for table, key, why in without_effect(arm)} for arm in arms]
    for number, (arm, unused) in enumerate(zip(arms, found, strict=True)):
        row = tables.content["arms"][number]
        for (table, key), why in unused.items():
            if _is_set(row, table, key):
                yield _nothing(tables, why, "arms", number, table, key)
        for one, judge in enumerate(arm.panel):
            for key, why in judge_without_effect(judge):
                if key in row["panel"][one] and differs_from_default(JudgeSettings, key, row["panel"][one][key]):
                    yield _nothing(tables, why, "arms", number, "panel", one, key)
    for table, key in found[0]:
        if _is_set(tables.content, table, key) and all((table, key) in one for one in found):
            yield _nothing(tables, f"{found[0][table, key]}, in every arm", table, key)


def _is_set(tables: Mapping[str, Any], table: str, key: str) -> bool:
    """Whether a file's tables set a key to another value than its default."""
    value = value_at(tables, (table, key))
    return value is not None and differs_from_default(TABLES[table], key, value)


def _nothing(tables: Tables, why: str, *place: str | int) -> Problem:
    return Problem(f"{tables.where(*place[:-1])}: {place[-1]} changes nothing: {why}; leave it out", place)


class _Part(NamedTuple):
    """The values of a table that its settings take; only if all ``fits`` can be told what does not fit together."""

    values: Mapping[str, Any]
    fits: bool


def _part(tables: Tables, kind: Any, value: object, *place: str | int) -> _Part:
    table = tables.mapping(value, *place)
    if kind is JudgeSettings:
        table = _with_profile(tables, table, *place)
    values = tables.values(kind, table, *place)
    return _Part(values, values.keys() == table.keys() & _keys(kind))


def _with_profile(tables: Tables, table: Mapping[str, Any], *place: str | int) -> Mapping[str, Any]:
    """Return a judge's table with what follows from its profile, if it names one; its own keys win."""
    name = table.get("profile", "")
    if not isinstance(name, str) or not name.isprintable():
        tables.note(
            f"profile={name!r:.60}: it must be a profile's name or file, such as gpt-5.4-mini", *place, "profile"
        )
        return {key: value for key, value in table.items() if key != "profile"}
    try:
        return {**settings_of_profile(name), **table} if name else table
    except (ConfigError, InputError) as error:
        tables.note(str(error), *place, "profile")
        return table


def _keys(kind: Any) -> set[str]:
    return {option.name for option in options_of(kind)}


def _panel(tables: Tables, row: Mapping[str, Any], *place: str | int) -> Sequence[Mapping[str, Any]]:
    value = row.get("panel", [])
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value) and len(value) != 1:
        return value
    tables.note("panel must be a list of at least two tables, one for each judge", *place, "panel")
    return []


def _problems_between(arms: list[Arm]) -> Iterator[Problem]:
    names = [arm.name for arm in arms if arm.name]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield Problem(f"two arms have the name {name!r}", ("arms", name, "name"))
    for arm in arms:
        if arm.against and (arm.against not in names or arm.against == arm.name):
            others = [name for name in names if name != arm.name]
            problem = f"arm {arm.name!r}: there is no other arm {arm.against!r} to pair it with.{_known(others)}"
            yield Problem(problem, ("arms", arm.name, "against"))


def _known(names: list[str]) -> str:
    return f" Known: {', '.join(name for name in names if name.isprintable())}." if names else ""


def settings_as_tables(arm: Arm) -> dict[str, Any]:
    """Return an arm's settings as the tables of a TOML file, with every default."""
    tables: dict[str, Any] = {table: _as_table(getattr(arm, table)) for table in TABLES}
    return tables | ({"panel": [_as_table(judge) for judge in arm.panel]} if arm.panel else {})


def _as_table(settings: Any) -> dict[str, Any]:
    """Return settings as a table; what is not set is left out, because TOML has no null."""
    values = {name: getattr(settings, name) for name in sorted(_keys(type(settings)))}
    return {
        key: list(value) if isinstance(value, tuple) else value for key, value in values.items() if value is not None
    }
