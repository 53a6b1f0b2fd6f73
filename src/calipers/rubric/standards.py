"""What a row of a data set asks of its answers, wherever the row keeps it: a rubric, rules for code, a reference.

HealthBench, RuscaRL, VerInstruct and VerIF, IFEval, Rubrics as Rewards and AdvancedIF use different keys, some of them
several at once, some JSON inside a string. Everything that reads rows uses this file, so that nothing is missed. Not
responsible for checking rubrics (``criteria``), warning of what is not used (``unused``), or running rules
(``verifiers``).
"""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final, TypeAlias

from calipers.errors import ConfigError, InputError
from calipers.rubric.criteria import as_rubric
from calipers.rubric.dataset_criteria import Pitfalls, as_criteria
from calipers.types import Rubric, TrajectoryGroup

CARRIERS: Final = frozenset({
    "rubrics", "reward_model", "extra_info", "prompt_metadata", "ground_truth", "checkers", "functions",
    "instruction_id_list", "reference", "reference_answer",
})  # fmt: skip
"""Keys of a row that may hold a rubric, rules or a reference, beside a group's own ``rubric`` and ``constraints``."""
READ: Final = CARRIERS | {"kwargs"}
"""Keys of a row that ``standards_in`` reads, beside ``rubric``."""
_OBJECTS: Final = ("reward_model", "extra_info", "prompt_metadata")
_RULES: Final = {"checkers": ("checkers", "functions"), "instruction_id_list": ("instruction_id_list", "kwargs")}
_LONGEST_LITERAL: Final = 100_000
"""Characters of a ground truth that is read as a Python literal."""


@dataclass(frozen=True, slots=True)
class Stated:
    """A value as the row has it, and its place there, such as ``extra_info.reward_model.rubrics``."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True)
class Standards:
    """What a row asks for. ``rules`` has ``checkers`` and ``functions``, or ``instruction_id_list`` and ``kwargs``."""

    rubric: str | Rubric | None = None
    rubric_place: str = ""
    rules: Stated | None = None
    reference: Stated | None = None


def standards_in(row: Mapping[str, Any], *, pitfalls: Pitfalls = "penalty", rubric: bool = True) -> Standards:
    """What ``row`` (plain data) asks for; ``rubric=False`` skips its rubric. Copies in several places count once.

    Raises InputError naming the place for values that cannot be read, and both places for two that differ.
    """
    holders = list(_holders(row))
    place, read = _rubric_in(holders, pitfalls) if rubric else ("", None)
    return Standards(read, place, _rules_in(holders), next(_references(holders), None))


_Holders: TypeAlias = Sequence[tuple[str, Mapping[str, Any]]]


def _rubric_in(holders: _Holders, pitfalls: Pitfalls) -> tuple[str, str | Rubric | None]:
    found: list[tuple[str, Any, str | Rubric]] = []
    for prefix, holder in holders:
        for key in ("rubric", "rubrics"):
            value = holder.get(key)
            if not _holds(value) or (found and value == found[0][1]):
                continue
            read = as_standard(value, f"{prefix}{key}", pitfalls=pitfalls)
            if found and _comparable_rubric(read) != _comparable_rubric(found[0][2]):
                raise _differ(found[0][0], f"{prefix}{key}", "rubric")
            found.append((f"{prefix}{key}", value, read))
    return (found[0][0], found[0][2]) if found else ("", None)


def _rules_in(holders: _Holders) -> Stated | None:
    found: list[Stated] = []
    for prefix, holder in holders:
        for key, names in _RULES.items():
            if _holds(holder.get(key)):
                found.append(Stated(f"{prefix}{key}", {name: holder[name] for name in names if name in holder}))
        if "checkers" not in holder and _are_sources(holder.get("functions")):
            found.append(Stated(f"{prefix}functions", {"functions": holder["functions"]}))
        if (listed := _instructions_in(holder.get("ground_truth"))) is not None:
            found.append(Stated(f"{prefix}ground_truth", listed))
    for other in found[1:]:
        if _comparable_rules(other.value) != _comparable_rules(found[0].value):
            raise _differ(found[0].place, other.place, "set of rules")
    return found[0] if found else None


def _instructions_in(truth: Any) -> dict[str, Any] | None:
    """IFEval's instructions in a list of ``instruction_id`` and ``kwargs``, or in its text; None for anything else."""
    if isinstance(truth, str):
        if truth.lstrip()[:1] != "[" or "instruction_id" not in truth or len(truth) > _LONGEST_LITERAL:
            return None
        for read in (json.loads, ast.literal_eval):
            with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
                return _instructions_in(read(truth.strip()))
        return None
    if not isinstance(truth, list) or not truth:
        return None
    ids: list[Any] = []
    kwargs: list[Any] = []
    for item in truth:
        if not isinstance(item, Mapping) or not isinstance(item.get("instruction_id"), list):
            return None
        given = item.get("kwargs")
        ids += item["instruction_id"]
        kwargs += [fields or {} for fields in given] if isinstance(given, list) else [{}] * len(item["instruction_id"])
    return {"instruction_id_list": ids, "kwargs": kwargs}


def as_standard(value: Any, place: str, *, pitfalls: Pitfalls = "penalty") -> str | Rubric:
    """The rubric at ``place`` of a row: text, or criteria in any data set's form. Raises InputError."""
    if isinstance(value, str):
        value = _json_in(value, ("[", "{"))
        if isinstance(value, str) and place.endswith("rubrics"):
            raise InputError(f"{place}: it must be a list of criteria, not text")
    if isinstance(value, str):
        return value
    if isinstance(value, Rubric):
        return value
    if isinstance(value, tuple):
        value = list(value)
    try:
        if isinstance(value, list):
            return as_rubric(as_criteria(value, pitfalls))
        return as_rubric(value)
    except (ConfigError, InputError) as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None


def _json_in(value: Any, begins: Sequence[str]) -> Any:
    """The value inside a JSON string that begins with one of ``begins``; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in begins:
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def unpacked(value: Any, place: str) -> Any:
    """The value inside a JSON string, as several data sets have it. Raises InputError for broken JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: its JSON text is not JSON: {error}") from None
    return value


def without_rubrics(group: TrajectoryGroup) -> TrajectoryGroup:
    """The group without its own rubric and without those of its trajectories."""
    members = tuple(replace(trajectory, rubric=None) for trajectory in group.trajectories)
    return replace(group, rubric=None, trajectories=members)


def as_text(reference: Any) -> str:
    """A reference as the judge sees it; empty if there is none."""
    if reference is None or isinstance(reference, str):
        return reference or ""
    return json.dumps(reference, ensure_ascii=False, default=str)


def _holders(row: Mapping[str, Any]) -> Iterator[tuple[str, Mapping[str, Any]]]:
    """The row and the objects in it that may hold standards, each with the prefix of its keys' places."""
    found: list[tuple[str, Mapping[str, Any]]] = [("", row)]
    for key in _OBJECTS:
        if (inner := _object(row.get(key), key)) is not None:
            found.append((f"{key}.", inner))
            if (deeper := _object(inner.get("reward_model"), f"{key}.reward_model")) is not None:
                found.append((f"{key}.reward_model.", deeper))
    yield from found
    for prefix, holder in found:
        if (truth := as_truth(holder.get("ground_truth"))) is not None:
            yield f"{prefix}ground_truth.", truth


def as_truth(value: Any) -> Mapping[str, Any] | None:
    """A ground truth that is an object, or the JSON text of one; None for any other."""
    value = _json_in(value, ("{",))
    return value if isinstance(value, Mapping) else None


def _object(value: Any, place: str) -> Mapping[str, Any] | None:
    value = unpacked(value, place)
    return value if isinstance(value, Mapping) else None


def references_in(row: Mapping[str, Any]) -> list[Stated]:
    """The references of a row, copies once; a judge is shown the first."""
    if CARRIERS.isdisjoint(row):
        return []
    found: dict[str, Stated] = {}
    for reference in _references(list(_holders(row))):
        found.setdefault(str(reference.value).strip(), reference)
    return list(found.values())


def _references(holders: Sequence[tuple[str, Mapping[str, Any]]]) -> Iterator[Stated]:
    for prefix, holder in holders:
        for key in ("reference", "reference_answer", "ground_truth"):
            value = holder.get(key)
            truth = as_truth(value) if key == "ground_truth" else None
            if truth is not None and not CARRIERS.isdisjoint({*truth, *(["reference"] if "prompt" in truth else [])}):
                continue  # its standards are read one by one
            if key == "ground_truth" and _instructions_in(value) is not None:
                continue
            if _holds(value):
                yield Stated(f"{prefix}{key}", value)


def _holds(value: Any) -> bool:
    """Whether a value is not blank: tables have empty lists and nulls for the keys of other rows."""
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and (not isinstance(value, Sequence | Mapping) or len(value) > 0)


def _are_sources(value: Any) -> bool:
    """Whether a column ``functions`` holds the source of rules, not the tools that a model may call."""
    return isinstance(value, Sequence) and any(isinstance(source, str) and "def " in source for source in value)


def _comparable_rubric(rubric: str | Rubric) -> object:
    """What two copies of a rubric share even if their tags are written differently."""
    if isinstance(rubric, str):
        return rubric.strip()
    return [(criterion.text, criterion.points, criterion.veto, criterion.rule) for criterion in rubric.criteria]


def _comparable_rules(rules: Mapping[str, Any]) -> object:
    """What two copies of rules share: Parquet fills arguments with the keys of other rows."""
    kwargs = rules.get("kwargs") or []
    named = [
        {key: item for key, item in (arguments or {}).items() if item is not None}
        for arguments in kwargs
        if not isinstance(arguments, str)
    ]
    return {**rules, "kwargs": named if any(named) else []}


def _differ(first: str, second: str, what: str) -> InputError:
    return InputError(f"the {what} in {first} and the one in {second} differ; leave one of them out")
