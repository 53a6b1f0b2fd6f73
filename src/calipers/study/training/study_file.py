"""A study from its TOML file: the tables of all arms, judges by their names, and arms with ``vary``."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, Final

from calipers.config.option import did_you_mean
from calipers.errors import CalipersError, ConfigError
from calipers.study.reading import TomlFile
from calipers.study.training.judges import Truth, judge_for
from calipers.study.training.settings import (
    Arm,
    ArmTable,
    ClosedForm,
    Evaluation,
    JudgeTable,
    Pretraining,
    Size,
    Study,
    Training,
)

_TABLES: Final = {
    "gpt": Size,
    "closed_form": ClosedForm,
    "pretraining": Pretraining,
    "training": Training,
    "evaluation": Evaluation,
}
_MOST_ARMS: Final = 1000
_MOST_STEPS: Final = 1_000_000
_MOST_ROLLOUTS: Final = 65_536
_VARIED_TABLES: Final = ("options", "training")


@dataclass(frozen=True, slots=True)
class StudyFile:
    """A study as read: the text of its TOML, and the folder that its files are in."""

    study: Study
    text: str
    folder: Path


def scenario_names() -> list[str]:
    """Return the names of the studies that come with calipers."""
    folder = files("calipers.study.training") / "scenarios"
    return sorted(file.name.removesuffix(".toml") for file in folder.iterdir() if file.name.endswith(".toml"))


def scenario_text(name: str) -> str:
    """Return the TOML of a study that comes with calipers. Raises ConfigError for an unknown name."""
    if name not in scenario_names():
        raise ConfigError(f"{name!r:.60} is no study of calipers.{did_you_mean(name[:60], scenario_names())}")
    return (files("calipers.study.training") / "scenarios" / f"{name}.toml").read_text(encoding="utf-8")


def read_study(config: str, **changes: Any) -> StudyFile:
    """Return the study in a TOML file, or that of calipers with this name.

    ``changes`` (steps, seeds, policy) replace the file's, unless they are None; no arm has more seeds than these.
    Raises ConfigError with all problems.
    """
    if config in scenario_names() and not Path(config).is_file():
        file, folder = TomlFile.parse(scenario_text(config), f"study {config}"), Path()
    elif config.endswith(".toml") or "/" in config or Path(config).exists():
        file, folder = TomlFile.read(Path(config)), Path(config).parent
    else:
        raise ConfigError(
            f"{config}: there is no such file, and no study of that name.{did_you_mean(config, scenario_names())}"
        )
    file.content |= {name: value for name, value in changes.items() if value is not None}
    return StudyFile(study_of(file, folder, seeds=changes.get("seeds")), file.text, folder)


def study_of(file: TomlFile, folder: Path = Path(), *, seeds: int | None = None) -> Study:
    """Return the study that a TOML file describes. ``seeds`` caps those of arms. Raises ConfigError."""
    content = file.content
    study = file.made(Study, content, also={*_TABLES, "judges", "arms"})
    study = replace(study, **{name: file.made(kind, content.get(name, {}), name) for name, kind in _TABLES.items()})
    judges = content.get("judges", {})
    if not isinstance(judges, Mapping):
        file.note("it must be a table", "judges")
        judges = {}
    for name in judges:
        file.require_name(name, "judges", name)
    reading = _Arms(file, study, {n: file.made(JudgeTable, table, "judges", n) for n, table in judges.items()}, seeds)
    study = replace(study, arms=tuple(reading.arms()))
    _check_sizes(file, study)
    if not file.problems:
        _check_judges(file, study, folder)
    file.require_none_wrong()
    return study


@dataclass(slots=True)
class _Arms:
    """The reading of a study's arms."""

    file: TomlFile
    study: Study
    judges: Mapping[str, JudgeTable]
    seeds: int | None
    rows: list[Any] = field(default_factory=list)

    def arms(self) -> Iterator[Arm]:
        """Yield the arms in the file, each variant of ``vary`` as one."""
        rows = self.file.content.get("arms")
        self.rows = rows if isinstance(rows, list) else []
        if not self.rows:
            self.file.note("write at least one [[arms]] table with a name and a judge", "arms")
        if sum(map(_variants, self.rows)) > _MOST_ARMS:
            self.file.note(f"with vary these are more than {_MOST_ARMS:,}: vary fewer values", "arms")
            return
        arms = [arm for number, row in enumerate(self.rows) for arm in self._arms_of(row, number)]
        names = Counter(arm.name for arm in arms)
        for arm in arms:
            if names[arm.name] > 1:
                self.file.note(f"{names[arm.name]} arms have the name {arm.name!r}", "arms")
            if arm.against and (arm.against not in names or arm.against == arm.name):
                hint = did_you_mean(arm.against, set(names) - {arm.name})
                self.file.note(f"arm {arm.name!r}: against: there is no other arm {arm.against!r:.60}.{hint}", "arms")
        yield from arms

    def _arms_of(self, row: Any, number: int) -> Iterator[Arm]:
        table = self.file.made(ArmTable, row, "arms", number)
        vary = table.vary or {}
        for key, values in vary.items():
            if not isinstance(values, list) or not values:
                self.file.note("each key needs a list of values", "arms", number, "vary", key)
                return
        for values in itertools.product(*vary.values()):
            changed: dict[str, Any] = {key: value for key, value in row.items() if key != "vary"} if vary else row
            changed = dict(changed) if isinstance(changed, Mapping) else {}
            for key, value in zip(vary, values, strict=True):
                group, _, inner = key.rpartition(".")
                if group in _VARIED_TABLES:
                    changed[group] = {**changed.get(group, {}), inner: value}
                else:
                    changed[key] = value
            varied = self.file.made(ArmTable, changed, "arms", number)
            name = " ".join([varied.name, *map(str, values)])
            self.file.require_name(name, "arms", number, "name")
            yield self._arm(replace(varied, name=name), number, self._against(table, values))

    def _against(self, table: ArmTable, values: Sequence[Any]) -> str:
        """Return the arm that a variant is compared with: of a varied arm, the variant that has the same values."""
        varied = any(
            isinstance(row, Mapping) and row.get("name") == table.against and row.get("vary") for row in self.rows
        )
        return " ".join([table.against, *map(str, values)]) if table.against and varied else table.against

    def _arm(self, table: ArmTable, number: int, against: str) -> Arm:
        judge = self._judge(table.judge, "arms", number, "judge")
        members = tuple(self._judge(name, "judges", table.judge, "panel") for name in judge.panel or ())
        if judge.panel is not None and (len(members) < 2 or judge.vices or judge.profile or judge.model):
            self.file.note("a panel has two or more judges, and nothing else", "judges", table.judge, "panel")
        if any(member.panel is not None or member.options is not None for member in members):
            self.file.note("a panel's judges have no panel or options of their own", "judges", table.judge, "panel")
        if table.jitter is not None and table.correlation is not None:
            self.file.note("jitter and correlation both say how rollouts arrive", "arms", number, "correlation")
        fields = {**asdict(self.study.training), **(table.training or {})}
        training = self.file.made(Training, fields, "arms", number, "training")
        options = {**(judge.options or {}), **(table.options or {})}
        most = min(self.study.seeds, self.seeds or self.study.seeds)
        seeds = min(table.seeds or most, most)
        return Arm(table.name, table, judge, members, options, training, seeds, against)

    def _judge(self, name: object, *place: str | int) -> JudgeTable:
        judge = self.judges.get(name) if isinstance(name, str) else None
        if judge is None:
            hint = did_you_mean(str(name)[:60], self.judges) if self.judges else " Write [judges.NAME] tables."
            self.file.note(f"{f'there is no judge {name!r:.60}' if name else 'no judge is named'}.{hint}", *place)
        return judge or JudgeTable()


def _variants(row: object) -> int:
    """Return how many arms a table under [[arms]] describes, without making them."""
    vary = row.get("vary") if isinstance(row, Mapping) else None
    lists = vary.values() if isinstance(vary, Mapping) else ()
    return math.prod(len(values) or 1 for values in lists if isinstance(values, list))


def _check_sizes(file: TomlFile, study: Study) -> None:
    """Note what is too large, or does not fit together."""
    if study.gpt.width % study.gpt.heads:
        file.note(f"width={study.gpt.width} must be a multiple of heads={study.gpt.heads}", "gpt", "width")
    form = study.closed_form
    if not form.length_floor < form.length_mean < form.length_cap:
        file.note("length_floor, length_mean and length_cap must ascend", "closed_form", "length_mean")
    if (steps := sum(arm.seeds for arm in study.arms) * study.steps) > _MOST_STEPS:
        file.note(f"{steps:,} steps in all runs; at most {_MOST_STEPS:,}: lower steps or seeds", "steps")
    if any(arm.training.prompts * arm.training.group_size > _MOST_ROLLOUTS for arm in study.arms):
        file.note(f"prompts times group_size may be {_MOST_ROLLOUTS:,}", "training")
    if study.pretraining.steps * study.pretraining.batch > 10**9:
        file.note("steps times batch may be 1,000,000,000", "pretraining", "steps")


def _check_judges(file: TomlFile, study: Study, folder: Path) -> None:
    """Note judges that cannot be made as their arms ask them."""
    for arm in study.arms:
        try:
            judge_for(arm, 0, Truth(0.0, 1.0), folder=folder).close()
        except (CalipersError, OSError, ValueError) as error:  # the last two are of paths that cannot be
            file.note(f"arm {arm.name!r}: {error}", "judges", arm.table.judge)
