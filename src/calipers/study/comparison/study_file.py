"""A comparison of judges from its TOML file: read whole, with every problem reported before the first question.

Not responsible for types and ranges of single settings (``settings``), for judges that cannot be made (``problems``),
or for asking (``asking``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, Final

from calipers.calibration.series import Frame
from calipers.config.flag_values import read_rubric_file
from calipers.config.option import did_you_mean
from calipers.errors import CalipersError, InputError
from calipers.inputs import read_groups
from calipers.study.comparison.problems import check_judges
from calipers.study.comparison.rewrites import REWRITES
from calipers.study.comparison.settings import (
    Cell,
    Comparison,
    JudgeTable,
    OwnRewrite,
    Wording,
    cells_of,
)
from calipers.study.comparison.variants import (
    Texts,
    middle_of_gold,
    rewritten_answers,
    texts_from_column,
    texts_from_file,
)
from calipers.study.comparison.without_effect import without_effect
from calipers.study.tables import Problem, Tables, is_file, problem_of_name, problem_of_path
from calipers.types import Rubric, TrajectoryGroup
from calipers.types.counted import counted
from calipers.types.encoding import finite_number

_TABLES: Final = ("judges", "wordings", "own_rewrites")
_MOST_CELLS: Final = 1000
_HOTTEST: Final = 100.0
"""The highest temperature: servers refuse what is above 2, some at less."""


@dataclass(frozen=True, slots=True)
class Study:
    """A comparison that can be asked: its settings, ``groups``, ``cells``, rewritten answers and wordings.

    ``folder`` is that of the TOML, which its paths are relative to.

    ``texts`` holds the rewritten answers of each rewrite, ``rubrics`` the rubric of each wording (None: the judge's
    own standards), ``text`` the TOML. ``notes`` are remarks for the user.
    """

    settings: Comparison
    folder: Path
    groups: tuple[TrajectoryGroup, ...]
    cells: tuple[Cell, ...]
    texts: Mapping[str, Texts]
    rubrics: Mapping[str | None, str | Rubric | None]
    text: str
    notes: tuple[str, ...] = ()


def read_study(config: Path, *, samples: int | None = None) -> Study:
    """Return the comparison that the TOML file ``config`` describes.

    ``samples`` replaces the file's, unless it is None. Raises ConfigError with all problems.
    """
    tables = Tables.read(config)
    settings = _settings(tables)
    if samples is not None:
        settings = replace(settings, samples=samples)
    groups, notes = _groups(settings, tables, config.parent) if settings.groups else ([], [])
    rubrics = _rubrics(settings, tables, config.parent)
    texts = _texts(settings, tables, config.parent, groups)
    cells = cells_of(settings)
    if len(cells) > _MOST_CELLS:
        problem = (
            f"judges times wordings times temperatures are {len(cells):,} cells; at most {_MOST_CELLS:,} are asked"
        )
        tables.note(problem, "judges")
        tables.require_none()
    check_judges(settings, tables, groups, rubrics)
    if not tables.problems:
        for key, place, why in without_effect(settings, tables.content):
            tables.note(f"{key} changes nothing: {why}; leave it out", *place)
    tables.require_none()
    notes += [f"rewrite {name!r} changes no answer" for name, found in texts.items() if not found]
    return Study(settings, config.parent, tuple(groups), tuple(cells), texts, rubrics, tables.text, tuple(notes))


def _settings(tables: Tables) -> Comparison:
    settings: Comparison = tables.made(Comparison, also=_TABLES)
    if not settings.groups:
        tables.note('there are no groups: write groups = "FILE"', "groups")
    settings = _checked(tables, settings, (), paths=("groups",), numbers=("temperatures",), names=("rewrites",))
    judges = {
        name: _checked(
            tables,
            tables.made(JudgeTable, "judges", name),
            ("judges", name),
            numbers=("temperatures",),
            names=("wordings",),
        )
        for name in tables.table("judges")
    }
    for key, what in (("judges", "a judge"), ("wordings", "a wording"), ("own_rewrites", "a rewrite")):
        for name in tables.table(key):
            if problem := problem_of_name(name, what):
                tables.note(f"{problem}: write [{key}.NAME]", key, name)
    if not judges:
        tables.note("there are no judges: write at least one [judges.NAME] table", "judges")
    wordings = {
        name: _checked(
            tables,
            tables.made(Wording, "wordings", name),
            ("wordings", name),
            texts=("rubric",),
            paths=("rubric_file",),
        )
        for name in tables.table("wordings")
    }
    own = {name: tables.made(OwnRewrite, "own_rewrites", name) for name in tables.table("own_rewrites")}
    _check_names(tables, settings, judges, wordings, own)
    own = {
        name: _checked(tables, table, ("own_rewrites", name), texts=("column",), paths=("file",))
        for name, table in own.items()
    }
    return replace(settings, judges=judges, wordings=wordings, own_rewrites=own)


def _checked(
    tables: Tables,
    settings: Any,
    path: tuple[str, ...],
    *,
    texts: Sequence[str] = (),
    paths: Sequence[str] = (),
    numbers: Sequence[str] = (),
    names: Sequence[str] = (),
) -> Any:
    """Return settings whose ``texts`` and ``paths`` are such, and lists of ``numbers`` and ``names``; note the others.

    Those have their defaults.
    """
    known = len(tables.problems)
    wrong = []
    for key in (*texts, *paths, *numbers, *names):
        value = getattr(settings, key)
        if value is None:
            continue
        if key in paths:
            if value != "" and (problem := problem_of_path(value)):  # "" is what is not set
                tables.note(f"{key}={value!r:.60}: {problem}", *path, key)
        elif key in texts:
            _require_text(tables, value, (*path, key))
        else:
            _require_list(tables, value, (*path, key), texts=key in names)
        if len(tables.problems) > known:
            known = len(tables.problems)
            wrong.append(key)
    defaults = type(settings)()
    return replace(settings, **{key: getattr(defaults, key) for key in wrong})


def _require_text(tables: Tables, value: Any, path: tuple[str, ...]) -> None:
    if not isinstance(value, str):
        tables.note(f"{path[-1]}={value!r:.60}: it must be a text", *path)


def _require_list(tables: Tables, value: Any, path: tuple[str, ...], *, texts: bool) -> None:
    """Note a problem if a setting is not a list of texts, or of numbers, that differ."""
    kinds = "names" if texts else f"numbers from 0 to {_HOTTEST:g}"
    fits = isinstance(value, list | tuple) and all(
        isinstance(one, str) if texts else (number := finite_number(one)) is not None and 0 <= number <= _HOTTEST
        for one in value
    )
    if not fits:
        tables.note(f"{path[-1]}={value!r:.60}: it must be a list of {kinds}", *path)
    elif len(set(value)) < len(value):
        tables.note(f"{path[-1]} names something twice", *path)


def _check_names(
    tables: Tables,
    settings: Comparison,
    judges: Mapping[str, JudgeTable],
    wordings: Mapping[str, Wording],
    own: Mapping[str, OwnRewrite],
) -> None:
    _check_rewrites(tables, tables.content.get("rewrites", settings.rewrites), own)
    for judge, table in judges.items():
        for wording in dict.fromkeys(_texts_in(table.wordings)):
            if wording not in wordings:
                hint = did_you_mean(wording, wordings) if wordings else " Write a [wordings.NAME] table."
                tables.note(f"there is no wording {wording!r}.{hint}", "judges", judge, "wordings")
    for name, words in wordings.items():
        if words.rubric is not None and words.rubric_file is not None:
            tables.note("rubric and rubric_file both say what the standards are: leave one out", "wordings", name)


def _check_rewrites(tables: Tables, rewrites: Any, own: Mapping[str, OwnRewrite]) -> None:
    for name in dict.fromkeys(_texts_in(rewrites)):
        if name not in REWRITES:
            tables.note(f"there is no rewrite {name!r}.{did_you_mean(name, REWRITES)}", "rewrites")
    for name, rewrite in own.items():
        if name in REWRITES:
            tables.note("a rewrite of calipers has this name; choose another", "own_rewrites", name)
        if (rewrite.file is None) == (rewrite.column is None):
            tables.note(f"{name!r} needs a file or a column, and not both", "own_rewrites", name)


def _texts_in(value: Any) -> list[str]:
    return [one for one in value if isinstance(one, str)] if isinstance(value, list | tuple) else []


def _groups(settings: Comparison, tables: Tables, folder: Path) -> tuple[list[TrajectoryGroup], list[str]]:
    """Return the groups that can be compared, and remarks on those that cannot."""
    try:
        every = list(read_groups(str(folder / settings.groups)))
        Frame.of(every)
    except CalipersError as error:
        tables.note(str(error), "groups")
        return [], []
    notes = []
    groups = [one for one in every if sum(bool(member.messages) for member in one.trajectories) > 1]
    if len(groups) < len(every):
        notes.append(
            f"{len(every) - len(groups)} of {counted(len(every), 'group')} have fewer than two answers: left out"
        )
    if not groups:
        tables.note(f"no group of {settings.groups} has two answers to compare", "groups")
    return groups[: settings.most_groups], notes


def _rubrics(settings: Comparison, tables: Tables, folder: Path) -> dict[str | None, str | Rubric | None]:
    found: dict[str | None, str | Rubric | None] = {None: None}
    for name, wording in settings.wordings.items():
        found[name] = wording.rubric
        if wording.rubric_file is not None:
            try:
                found[name] = read_rubric_file(str(folder / wording.rubric_file))
            except CalipersError as error:
                found[name] = None
                tables.note(str(error).removeprefix("--rubric "), "wordings", name, "rubric_file")
    return found


def _texts(settings: Comparison, tables: Tables, folder: Path, groups: Sequence[TrajectoryGroup]) -> dict[str, Texts]:
    found: dict[str, Texts] = {}
    below = middle_of_gold(groups) if settings.wrong_below is None else settings.wrong_below
    for name in settings.rewrites if groups else ():
        if name not in REWRITES:
            continue
        if name == "confident_wrong" and below is None:
            tables.note("confident_wrong needs answers with gold of two values, or wrong_below", "rewrites")
            continue
        found[name] = rewritten_answers(name, groups, wrong_below=below)
    for name, own in settings.own_rewrites.items():
        try:
            if own.file is not None and (groups or not is_file(folder / own.file)):
                found[name] = texts_from_file(folder / own.file, groups)
            elif own.column is not None and groups:
                found[name] = texts_from_column(own.column, groups)
        except InputError as error:
            at = Problem(f"[own_rewrites.{name}]: {error}", ("own_rewrites", name, "file" if own.file else "column"))
            tables.problems.append(at)
    return found
