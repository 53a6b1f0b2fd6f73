"""A simulation's settings from TOML, and the scenarios that come with calipers.

The tables [policy], [judge] and [grpo] hold for all arms; each [[arms]] has a name, perhaps the arm it is paired with
(``against``), and tables with what differs. Every problem is reported at once.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

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
    if config in scenario_names() and not Path(config).is_file():
        text, source = scenario_text(config), f"scenario {config}"
    elif Path(config).is_file():
        text, source = _read(Path(config)), config
    else:
        hint = did_you_mean(config, scenario_names())
        raise ConfigError(f"{config}: there is no such file, and no scenario of that name.{hint}")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from error
    content |= {name: value for name, value in changes.items() if value is not None}
    return simulation_from(content, source=source)


def simulation_from(content: Mapping[str, Any], *, source: str) -> Simulation:
    """Return the simulation that the tables of a TOML file describe. Raises ConfigError with all problems."""
    problems: list[str] = []
    names = {option.name for option in options_of(Simulation)}
    problems += _unknown(content, {*names, *TABLES, "arms"}, "")
    shared = {name: _table(content.get(name, {}), name, problems) for name in TABLES}
    rows = content.get("arms", [])
    if not isinstance(rows, list) or not rows or not all(isinstance(row, Mapping) for row in rows):
        problems.append("arms: write at least one [[arms]] table with a name")
        rows = []
    arms = [_arm(row, number, shared, problems) for number, row in enumerate(rows, 1)]
    problems += _problems_between(arms)
    own = {name: content[name] for name in names if name in content}
    simulation = replace(Simulation(tuple(arms)), **own)
    out_of_range = list(_out_of_range(simulation, ""))
    problems += [*(out_of_range or problems_of_size(simulation)), *problems_of_figures(simulation.figures)]
    if problems:
        listed = "".join(f"\n  {one}" for one in dict.fromkeys(problems))
        raise ConfigError(f"{source}: it cannot be run:{listed}")
    return simulation


def _read(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def _arm(row: Mapping[str, Any], number: int, shared: Mapping[str, Mapping[str, Any]], problems: list[str]) -> Arm:
    name = row.get("name")
    where = f"arm {name!r}: " if isinstance(name, str) and name else f"arm {number}: "
    if not isinstance(name, str) or not name:
        problems.append(f"{where}it needs a name, a text")
    if not isinstance(row.get("against", ""), str):
        problems.append(f"{where}against must be the name of another arm")
    problems += _unknown(row, {*_OWN, *TABLES}, where)
    made: dict[str, Any] = {}
    out_of_range: list[str] = []
    for table, kind in TABLES.items():
        own = _table(row.get(table, {}), f"{where}{table}", problems)
        problems += _unknown(shared[table], _keys(kind), f"[{table}] ")
        made[table] = _settings(kind, [shared[table], own], f"{where}{table}: ", problems, out_of_range)
    judge = [shared["judge"], _table(row.get("judge", {}), "", [])]
    panel = tuple(
        _settings(JudgeSettings, [*judge, member], f"{where}panel: judge {place}: ", problems, out_of_range)
        for place, member in enumerate(_panel(row, where, problems), 1)
    )
    arm = Arm(str(name or ""), str(row.get("against", "")), panel=panel, **made)
    # What fits together can be told only of values of the right types.
    problems += out_of_range or [f"{where}{one}" for one in problems_of_arm(arm)]
    return arm


def _settings(
    kind: Any, tables: Sequence[Mapping[str, Any]], where: str, problems: list[str], out_of_range: list[str]
) -> Any:
    """Build settings from tables, of which later ones win; only the last may not have been checked for its keys."""
    problems += _unknown(tables[-1], _keys(kind), where)
    if kind is JudgeSettings:
        tables = [_with_profile(table, where, problems) for table in tables]
    merged = {key: value for table in tables for key, value in table.items() if key in _keys(kind)}
    made = kind(**merged)
    out_of_range += _out_of_range(made, where)
    return made


def _with_profile(table: Mapping[str, Any], where: str, problems: list[str]) -> Mapping[str, Any]:
    """Return a judge's table with what follows from its profile, if it names one; its own keys win."""
    name = table.get("profile", "")
    if not isinstance(name, str):
        problems.append(f"{where}profile={name!r}: it must be a profile's name or file, such as gpt-5.4-mini")
        return table
    try:
        return {**settings_of_profile(name), **table} if name else table
    except (ConfigError, InputError) as error:
        problems.append(f"{where}{error}")
        return table


def _keys(kind: Any) -> set[str]:
    return {option.name for option in options_of(kind)}


def _panel(row: Mapping[str, Any], where: str, problems: list[str]) -> Sequence[Mapping[str, Any]]:
    value = row.get("panel", [])
    if isinstance(value, list) and all(isinstance(one, Mapping) for one in value) and len(value) != 1:
        return value
    problems.append(f"{where}panel must be a list of at least two tables, one for each judge")
    return []


def _table(value: object, name: str, problems: list[str]) -> Mapping[str, Any]:
    if isinstance(value, Mapping):
        return value
    problems.append(f"{name} must be a table")
    return {}


def _unknown(table: Mapping[str, Any], known: set[str], where: str) -> list[str]:
    return [f"{where}unknown key {key!r}.{did_you_mean(key, known)}" for key in table if key not in known]


def _out_of_range(settings: Any, where: str) -> Iterator[str]:
    kind: Any = type(settings)
    for option in options_of(kind):
        try:
            option.require(getattr(settings, option.name))
        except ConfigError as error:
            yield f"{where}{error}"


def _problems_between(arms: list[Arm]) -> Iterator[str]:
    names = [arm.name for arm in arms if arm.name]
    for name in sorted({name for name in names if names.count(name) > 1}):
        yield f"two arms have the name {name!r}"
    for arm in arms:
        if arm.against and (arm.against not in names or arm.against == arm.name):
            others = [name for name in names if name != arm.name]
            yield f"arm {arm.name!r}: there is no other arm {arm.against!r} to pair it with.{_known(others)}"


def _known(names: list[str]) -> str:
    return f" Known: {', '.join(names)}." if names else ""


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
