"""A training study from its TOML file: read whole, with every problem reported before the first step.

The tables [policy], [pretraining], [training], [evaluation], [audit], [stop] and [trl] hold for all arms; each
[judges.NAME] is a judge, and each [[arms]] an arm of the matrix, or several with ``vary``. Not responsible for what
fits together (``problems``).
"""

from __future__ import annotations

import itertools
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from calipers.config.option import did_you_mean, options_of
from calipers.errors import ConfigError
from calipers.study.training.problems import problems_of_study
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
_CLUSTER: Final = "cluster"
"""The table for ``calipers study export``, which is not read here."""
_SCENARIOS: Final = "calipers.study.training"
_MOST_SEEDS: Final = 10_000


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
    if Path(config).is_file():
        text, source = _text_of(Path(config)), config
    elif config in scenario_names():
        text, source = scenario_text(config), f"study {config}"
    else:
        hint = did_you_mean(config, scenario_names())
        raise ConfigError(f"{config}: there is no such file, and no training study of that name.{hint}")
    try:
        content = tomllib.loads(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise ConfigError(f"{source}: not valid TOML: {error}") from error
    content |= {name: value for name, value in changes.items() if value is not None}
    if (seeds := changes.get("seeds")) is not None:
        _cap_seeds(content.get("arms"), seeds)
    return study_from(content, source=source), text


def _cap_seeds(rows: Any, most: int) -> None:
    for row in rows if isinstance(rows, list) else ():
        if isinstance(row, dict) and isinstance(row.get("seeds"), int):
            row["seeds"] = min(row["seeds"], most)


def _text_of(path: Path) -> str:
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise ConfigError(f"{path}: cannot be read: {error}") from error


def study_from(content: Mapping[str, Any], *, source: str) -> TrainingStudy:
    """Return the training study that the tables of a TOML file describe. Raises ConfigError with all problems."""
    found = study_tables(content)
    problems = [*found.problems, *problems_of_study(found.study, found.unread, whole=not found.problems)]
    if problems:
        listed = "".join(f"\n  {one}" for one in dict.fromkeys(problems))
        raise ConfigError(f"{source}: it cannot be run:{listed}")
    return found.study


@dataclass(frozen=True, slots=True)
class StudyTables:
    """What the tables of a training study say: the study, its judges by name, and what is wrong with the tables.

    The study has its defaults where a table is wrong, and lacks the arms in ``unread``, by their names.
    """

    study: TrainingStudy
    judges: Mapping[str, JudgeTable]
    unread: Sequence[str]
    problems: Sequence[str]


def study_tables(content: Mapping[str, Any]) -> StudyTables:
    """Return what the tables of a training study say. Not checked is whether it can be run on this machine."""
    reading = _Reading(content)
    study = reading.study()
    return StudyTables(study, reading.judges, reading.unread, list(dict.fromkeys(reading.problems)))


@dataclass(slots=True)
class _Reading:
    """The reading of a study's tables, with the problems found so far."""

    content: Mapping[str, Any]
    problems: list[str] = field(default_factory=list)
    judges: dict[str, JudgeTable] = field(default_factory=dict)
    wrong_judges: set[str] = field(default_factory=set)
    unread: list[str] = field(default_factory=list)

    def study(self) -> TrainingStudy:
        """Read the whole training study; where its tables are wrong, it has its defaults, or an arm less."""
        own = {option.name for option in options_of(TrainingStudy)}
        self._unknown(self.content, {*own, *_TABLES, *_OPTIONAL, "judges", "arms", _CLUSTER}, "")
        tables = {
            name: self._made(kind, self.content.get(name, {}), f"[{name}]") or kind() for name, kind in _TABLES.items()
        }
        for name, table in self._table(self.content.get("judges", {}), "[judges]").items():
            judge = self._made(JudgeTable, table, f"[judges.{name}]")
            self.judges[name] = judge or JudgeTable()
            if judge is None:
                self.wrong_judges.add(name)
        given = self._in_range(TrainingStudy, {name: self.content[name] for name in own & self.content.keys()}, "")
        title = given.get("title", "")
        if not isinstance(title, str) or not title.isprintable():
            what = "one line without control characters" if isinstance(title, str) else "text"
            self.problems.append(f"title={given.pop('title')!r:.60}: it must be {what}")
        if "seeds" in self.content and "seeds" not in given:
            given["seeds"] = _MOST_SEEDS  # so that no arm seems to have more
        training: Training = tables.pop("training")
        study = replace(TrainingStudy(()), **given, **self._watching(), **tables)
        arms = [self._arm(table, training, study) for table in self._arm_tables()]
        return replace(study, arms=tuple(arm for arm in arms if arm is not None))

    def _watching(self) -> dict[str, Any]:
        """Read the tables that a study may leave out, and find the audit judge."""
        given = {
            name: made
            for name, kind in _OPTIONAL.items()
            if name in self.content and (made := self._made(kind, self.content[name], f"[{name}]")) is not None
        }
        if "audit" not in given:
            return given
        name, known = given["audit"].judge, len(self.problems)
        judge = self.judges.get(name) if isinstance(name, str) else None
        if judge is None:
            self.problems.append(f"[audit]: there is no judge {name!r}.{did_you_mean(str(name), self.judges)}")
            return given
        options = self._table(judge.options or {}, f"[judges.{name}]: options")
        members = tuple(self._members(judge, name))
        if name in self.wrong_judges or len(self.problems) > known:
            return given
        auditor = Arm("audit", judge, ArmTable(), Training(), options, "loop", 1, members=members)
        return {**given, "auditor": auditor}

    def _arm_tables(self) -> Iterator[ArmTable]:
        rows = self.content.get("arms", [])
        if not isinstance(rows, list) or not rows:
            self.problems.append("arms: write at least one [[arms]] table with a name and a judge")
            return
        for number, row in enumerate(rows, 1):
            where = f"arm {row['name']!r}" if isinstance(row, Mapping) and row.get("name") else f"arm {number}"
            known = len(self.problems)
            table: ArmTable | None = self._made(ArmTable, row, where)
            name = row.get("name") if isinstance(row, Mapping) else None
            if not isinstance(name, str) or not name:
                self.problems.append(f"{where}: it needs a name, a text")
            elif table is not None and len(self.problems) == known:
                yield from self._varied(table, where)
            else:
                self.unread.append(name)

    def _varied(self, table: ArmTable, where: str) -> Iterator[ArmTable]:
        """Yield a table for each combination of the values in ``vary``, with the values in its name."""
        vary = self._table(table.vary or {}, f"{where}: vary")
        lists = [value if isinstance(value, list) and value else None for value in vary.values()]
        if None in lists:
            self.problems.append(f"{where}: vary: each key needs a list of values")
            self.unread.append(table.name)
            return
        for values in itertools.product(*(one or () for one in lists)):
            row: dict[str, Any] = {}
            for key, value in zip(vary, values, strict=True):
                group, _, inner = key.rpartition(".")
                if group in ("options", "training"):
                    row[group] = {**(row.get(group) or getattr(table, group) or {}), inner: value}
                else:
                    row[key] = value
            name = " ".join([table.name, *map(str, values)])
            made = self._made(ArmTable, {**_given(table), **row, "name": name}, where)
            if made is None:
                self.unread.append(name)
            else:
                yield replace(made, against=_counterpart(table, values, self.content["arms"]))

    def _arm(self, table: ArmTable, training: Training, study: TrainingStudy) -> Arm | None:
        where, known = f"arm {table.name!r}", len(self.problems)
        judge = self.judges.get(table.judge) if isinstance(table.judge, str) else None
        if judge is None:
            hint = did_you_mean(str(table.judge), self.judges) if self.judges else " Write [judges.NAME] tables."
            self.problems.append(f"{where}: there is no judge {table.judge!r}.{hint}")
        base = {option.name: getattr(training, option.name) for option in options_of(Training)}
        own = self._table(table.training or {}, f"{where}: training")
        made = self._made(Training, {**base, **own}, f"{where}: training")
        shared = self._table((judge.options if judge else None) or {}, f"[judges.{table.judge}]: options")
        options = {**shared, **self._table(table.options or {}, f"{where}: options")}
        members = () if judge is None else tuple(self._members(judge, table.judge))
        if judge is None or made is None or table.judge in self.wrong_judges or len(self.problems) > known:
            self.unread.append(table.name)
            return None
        engine, seeds = table.engine or study.engine, table.seeds or study.seeds
        return Arm(table.name, judge, table, made, options, engine, seeds, against=table.against, members=members)

    def _members(self, judge: JudgeTable, name: str) -> Iterator[JudgeTable]:
        """Yield the tables of a panel's judges."""
        where = f"[judges.{name}]: panel"
        if judge.panel is None:
            return
        if not isinstance(judge.panel, list) or len(judge.panel) < 2:
            self.problems.append(f"{where} must be a list of two or more names of judges")
            return
        for one in judge.panel:
            member = self.judges.get(one) if isinstance(one, str) else None
            if member is None:
                self.problems.append(f"{where}: there is no judge {one!r}.{did_you_mean(str(one), self.judges)}")
            elif member.panel is not None or member.options is not None or member.quality != judge.quality:
                self.problems.append(
                    f"{where}: {one} cannot be in it: panel, options and quality are set in the panel's own table"
                )
            else:
                yield member

    def _made(self, kind: Any, value: object, where: str) -> Any:
        """Return the settings ``kind`` with the values of a table, or None where it does not take some; note these."""
        found = len(self.problems)
        table = self._table(value, where)
        known = {option.name for option in options_of(kind)}
        self._unknown(table, known, f"{where}: ")
        given = self._in_range(kind, {key: value for key, value in table.items() if key in known}, f"{where}: ")
        return None if len(self.problems) > found else kind(**given)

    def _table(self, value: object, where: str) -> Mapping[str, Any]:
        if isinstance(value, Mapping):
            return value
        self.problems.append(f"{where} must be a table")
        return {}

    def _unknown(self, table: Mapping[str, Any], known: set[str], where: str) -> None:
        self.problems += [f"{where}unknown key {key!r}.{did_you_mean(key, known)}" for key in table if key not in known]

    def _in_range(self, kind: Any, given: Mapping[str, Any], where: str) -> dict[str, Any]:
        """Return the values that the settings ``kind`` take; note the others."""
        found = {}
        for option in options_of(kind):
            try:
                if option.name in given:
                    option.require(given[option.name])
                    found[option.name] = given[option.name]
            except ConfigError as error:
                self.problems.append(f"{where}{error}")
        return found


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
            shared = [str(own[key]) for key in row.get("vary") or {} if key in own]
            return " ".join([table.against, *shared])
    return table.against
