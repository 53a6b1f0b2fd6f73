"""A training study from its TOML file: read whole, with every problem reported before the first step.

The tables [policy], [pretraining], [training], [evaluation], [audit], [stop] and [trl] hold for all arms; each
[judges.NAME] is a judge, and each [[arms]] an arm of the matrix, or several with ``vary``. Not responsible for what
fits together (``problems``).
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError
from calipers.study.tables import Problem, Tables, is_file, problem_of_name
from calipers.study.training.problems import problems_of_rest, problems_of_study
from calipers.study.training.settings import (
    Arm,
    ArmTable,
    Audit,
    Evaluation,
    JudgeTable,
    Pretraining,
    Size,
    Training,
    TrainingStudy,
)
from calipers.study.watching.rules import StopRules

_TABLES: Final = {"policy": Size, "pretraining": Pretraining, "training": Training, "evaluation": Evaluation}
_OPTIONAL: Final = {"audit": Audit, "stop": StopRules}
_SCENARIOS: Final = "calipers.study.training"
_MOST_SEEDS: Final = 10_000
_MOST_ARMS: Final = 1000
_MOST_JUDGES: Final = 64
_NOT_VARIED: Final = {
    "name": "the values are in the names already",
    "against": "a variant is compared with the variant that has the same values",
    "vary": "write its keys beside the others",
    "options": "vary one option, such as options.orders",
    "training": "vary one setting, such as training.kl",
}


def scenario_names() -> list[str]:
    """Return the names of the training studies that come with calipers."""
    folder = files(_SCENARIOS) / "scenarios"
    return sorted(one.name.removesuffix(".toml") for one in folder.iterdir() if one.name.endswith(".toml"))


def scenario_text(name: str) -> str:
    """Return the TOML of a training study that comes with calipers, to be read or changed.

    Raises ConfigError for an unknown name.
    """
    if name not in scenario_names():
        raise ConfigError(f"{name!r} is no training study of calipers.{did_you_mean(name, scenario_names())}")
    return (files(_SCENARIOS) / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def read_study(config: str, **changes: int | None) -> tuple[TrainingStudy, str]:
    """Return the training study in a TOML file, or that of calipers with this name, and the text of its TOML.

    ``changes`` (steps, seeds) replace the file's, unless they are None; no arm has more seeds than these. Raises
    ConfigError with all problems.
    """
    if is_file(Path(config)):
        tables = Tables.read(Path(config))
    elif config in scenario_names():
        tables = Tables.parse(scenario_text(config), f"study {config}")
    else:
        hint = did_you_mean(config, scenario_names())
        raise ConfigError(f"{config}: there is no such file, and no training study of that name.{hint}")
    content = {**tables.content, **{name: value for name, value in changes.items() if value is not None}}
    if (seeds := changes.get("seeds")) is not None:
        _cap_seeds(content.get("arms"), seeds)
    return _checked(Tables(content, tables.source, tables.text)), tables.text


def _cap_seeds(rows: Any, most: int) -> None:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("seeds"), int):
            row["seeds"] = min(row["seeds"], most)


def study_from(content: Mapping[str, Any], *, source: str) -> TrainingStudy:
    """Return the training study that the tables of a TOML file describe. Raises ConfigError with all problems."""
    return _checked(Tables(content, source))


def _checked(tables: Tables) -> TrainingStudy:
    found = study_tables(tables)
    more = [*problems_of_study(found.study, found.unread, whole=not tables.problems), *problems_of_rest(found.rest)]
    tables.require_none([*tables.problems, *more], why="it cannot be run")
    return found.study


@dataclass(frozen=True, slots=True)
class StudyTables:
    """What the tables of a training study say: the study, and its judges by name.

    The study has its defaults where a table is wrong, and lacks the arms in ``unread``, by their names. ``rest`` holds
    the judges that none of its arms, the audit and their panels ask, each in an arm with its name.
    """

    study: TrainingStudy
    judges: Mapping[str, JudgeTable]
    unread: Sequence[str]
    rest: Sequence[Arm]


def study_tables(tables: Tables) -> StudyTables:
    """Return what a training study's ``tables`` say; what is wrong is noted there.

    Not checked is whether it can be run on this machine.
    """
    reading = _Reading(tables)
    study = reading.study()
    return StudyTables(study, reading.judges, reading.unread, reading.rest(study))


@dataclass(slots=True)
class _Reading:
    """The reading of a study's tables."""

    tables: Tables
    judges: dict[str, JudgeTable] = field(default_factory=dict)
    wrong_judges: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    def study(self) -> TrainingStudy:
        """Read the whole training study; where its tables are wrong, it has its defaults, or an arm less."""
        content = self.tables.content
        given = self.tables.values(TrainingStudy, content, also={*_TABLES, *_OPTIONAL, "judges", "arms"})
        tables = {name: self._made(kind, content.get(name, {}), name) or kind() for name, kind in _TABLES.items()}
        for name, table in self.tables.mapping(content.get("judges", {}), "judges").items():
            if problem := problem_of_name(name, "a judge"):
                self.tables.note(problem, "judges", name)
            judge = self._made(JudgeTable, table, "judges", name)
            self.judges[name] = judge or JudgeTable()
            if judge is None:
                self.wrong_judges.add(name)
        if "seeds" in content and "seeds" not in given:
            given["seeds"] = _MOST_SEEDS  # so that no arm seems to have more
        training: Training = tables.pop("training")
        study = replace(TrainingStudy(()), **given, **self._watching(), **tables)
        arms = [self._arm(table, training, study) for table in self._arm_tables()]
        return replace(study, arms=tuple(arm for arm in arms if arm is not None))

    def _watching(self) -> dict[str, Any]:
        """Read the tables that a study may leave out, and find the audit judge."""
        content = self.tables.content
        given = {
            name: made
            for name, kind in _OPTIONAL.items()
            if name in content and (made := self._made(kind, content[name], name)) is not None
        }
        if "audit" not in given:
            return given
        name = given["audit"].judge
        judge = self.judges.get(name) if isinstance(name, str) else None
        if judge is None:
            self.tables.note(
                f"there is no judge {name!r:.60}.{did_you_mean(str(name)[:60], self.judges)}", "audit", "judge"
            )
            return given
        auditor = self._alone(judge, name, "audit")
        return given if auditor is None else {**given, "auditor": auditor}

    def rest(self, study: TrainingStudy) -> list[Arm]:
        """Return the judges that none of the study's arms, its audit and their panels ask, each in an arm."""
        asked = {id(one) for arm in study.arms for one in (arm.judge, *arm.members)}
        if study.auditor is not None:
            asked |= {id(one) for one in (study.auditor.judge, *study.auditor.members)}
        left = [(name, judge) for name, judge in self.judges.items() if id(judge) not in asked]
        return [arm for name, judge in left if (arm := self._alone(judge, name, name)) is not None]

    def _alone(self, judge: JudgeTable, name: str, arm: str) -> Arm | None:
        """Return an arm with a judge's own settings, to check it; None where these are wrong, which is noted."""
        known = len(self.tables.problems)
        options = self.tables.mapping(judge.options or {}, "judges", name, "options")
        members = tuple(self._members(judge, name))
        if name in self.wrong_judges or len(self.tables.problems) > known:
            return None
        return Arm(arm, judge, ArmTable(), Training(), options, "loop", 1, members=members)

    def _arm_tables(self) -> Iterator[ArmTable]:
        rows = self.tables.content.get("arms", [])
        if not isinstance(rows, list) or not rows:
            self.tables.note("arms: write at least one [[arms]] table with a name and a judge", "arms")
            return
        if (made := sum(map(_variants, rows))) > _MOST_ARMS:
            many = max(range(len(rows)), key=lambda number: _variants(rows[number]))
            problem = f"{made:,} arms, with the variants by vary; a study may have {_MOST_ARMS:,}: vary fewer values"
            self.tables.note(problem, "arms", many, "vary")
            return
        for number, row in enumerate(rows):
            known = len(self.tables.problems)
            table: ArmTable | None = self._made(ArmTable, row, "arms", number)
            name = row.get("name") if isinstance(row, Mapping) else None
            if isinstance(row, Mapping) and (problem := problem_of_name(name, "it")):
                self.tables.note(problem, "arms", number, "name")
            elif table is not None and len(self.tables.problems) == known:
                yield from self._varied(table, number)
            elif isinstance(name, str):
                self.unread.append(name)

    def _varied(self, table: ArmTable, number: int) -> Iterator[ArmTable]:
        """Yield a table for each combination of the values in ``vary``, with the values in its name."""
        vary = self.tables.mapping(table.vary or {}, "arms", number, "vary")
        known = len(self.tables.problems)
        for key, value in vary.items():
            if not isinstance(value, list) or not value:
                self.tables.note("each key needs a list of values", "arms", number, "vary", key)
            elif key in _NOT_VARIED:
                self.tables.note(f"{key} cannot be varied: {_NOT_VARIED[key]}", "arms", number, "vary", key)
        if table.vary == {}:
            self.tables.note("vary: it has no key; leave it out", "arms", number, "vary")
        if len(self.tables.problems) > known:
            self.unread.append(table.name)
            return
        lists = [value if isinstance(value, list) else [] for value in vary.values()]
        for values in itertools.product(*lists):
            row: dict[str, Any] = {}
            for key, value in zip(vary, values, strict=True):
                group, _, inner = key.rpartition(".")
                if group in ("options", "training"):
                    row[group] = {**(row.get(group) or getattr(table, group) or {}), inner: value}
                else:
                    row[key] = value
            name = " ".join([table.name, *map(str, values)])
            made = self._made(ArmTable, {**_given(table), **row, "name": name}, "arms", number)
            if made is None:
                self.unread.append(name)
            else:
                yield replace(made, against=_counterpart(table, values, self.tables.content["arms"]))

    def _arm(self, table: ArmTable, training: Training, study: TrainingStudy) -> Arm | None:
        place, known = ("arms", table.name), len(self.tables.problems)
        judge = self.judges.get(table.judge) if isinstance(table.judge, str) else None
        if judge is None:
            hint = did_you_mean(str(table.judge)[:60], self.judges) if self.judges else " Write [judges.NAME] tables."
            self.tables.note(f"there is no judge {table.judge!r:.60}.{hint}", *place, "judge")
        base = {option.name: getattr(training, option.name) for option in options_of(Training)}
        own = self.tables.mapping(table.training or {}, *place, "training")
        made = self._made(Training, {**base, **own}, *place, "training")
        shared = self.tables.mapping((judge.options if judge else None) or {}, "judges", str(table.judge), "options")
        options = {**shared, **self.tables.mapping(table.options or {}, *place, "options")}
        members = () if judge is None else tuple(self._members(judge, table.judge))
        if judge is None or made is None or table.judge in self.wrong_judges or len(self.tables.problems) > known:
            self.unread.append(table.name)
            return None
        engine, seeds = table.engine or study.engine, table.seeds or study.seeds
        return Arm(table.name, judge, table, made, options, engine, seeds, against=table.against, members=members)

    def _members(self, judge: JudgeTable, name: str) -> Iterator[JudgeTable]:
        """Yield the tables of a panel's judges."""
        place = ("judges", name, "panel")
        if judge.panel is None:
            return
        if not isinstance(judge.panel, list) or len(judge.panel) < 2:
            self.tables.note("panel must be a list of two or more names of judges", *place)
            return
        if len(judge.panel) > _MOST_JUDGES:
            problem = f"panel: it has {len(judge.panel):,} judges; at most {_MOST_JUDGES} are asked"
            self.tables.note(problem, *place)
            return
        for number, one in enumerate(judge.panel):
            member = self.judges.get(one) if isinstance(one, str) else None
            if member is None:
                hint = did_you_mean(str(one), self.judges)
                problem = f"[judges.{name}]: panel: there is no judge {one!r:.60}.{hint}"
                self.tables.problems.append(Problem(problem, (*place, number)))
            elif member.panel is not None or member.options is not None or member.quality != judge.quality:
                self.tables.note(
                    f"panel: {one} cannot be in it: panel, options and quality are set in the panel's own table", *place
                )
            else:
                yield member

    def _made(self, kind: Any, value: object, *place: str | int) -> Any:
        """Return the settings ``kind`` with the values of a table, or None where it does not take some; note these."""
        found = len(self.tables.problems)
        given = self.tables.values(kind, self.tables.mapping(value, *place), *place)
        return None if len(self.tables.problems) > found else kind(**given)


def _variants(row: object) -> int:
    """Return how many arms a table under [[arms]] describes, without making them."""
    vary = row.get("vary") if isinstance(row, Mapping) else None
    lists = vary.values() if isinstance(vary, Mapping) else ()
    return math.prod(len(one) or 1 for one in lists if isinstance(one, list))


def _given(table: ArmTable) -> dict[str, Any]:
    """Return what an arm's table sets, without ``vary``."""
    found = {option.name: getattr(table, option.name) for option in options_of(ArmTable)}
    return {key: value for key, value in found.items() if key != "vary" and value is not None}


def _counterpart(table: ArmTable, values: tuple[Any, ...], rows: Any) -> str:
    """Return the name of the arm that a variant is paired with: the variant with the same values, if there are such.

    An arm that varies fewer keys, or none, is the counterpart of all variants that agree with it.
    """
    if not table.against:
        return ""
    own = dict(zip(table.vary or {}, values, strict=True))
    for row in rows:
        if isinstance(row, Mapping) and row.get("name") == table.against:
            varied = row.get("vary")
            shared = [str(own[key]) for key in varied if key in own] if isinstance(varied, Mapping) else []
            return " ".join([table.against, *shared])
    return table.against
