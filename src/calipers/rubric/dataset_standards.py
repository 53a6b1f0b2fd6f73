"""Reads what a row of a data set requires of answers, under whatever keys: a rubric, rules for code, a reference.

HealthBench, RuscaRL, VerInstruct and VerIF, IFEval, Rubrics as Rewards and AdvancedIF use different keys, some of them
several at once, and some JSON inside a string. Everything that reads rows uses this file, so that no requirement is
missed.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.rubric.criteria import as_rubric
from calipers.rubric.dataset_criteria import Pitfalls, normalise_criteria
from calipers.types import Rubric, TrajectoryGroup

STANDARDS_KEYS: Final = frozenset({
    "rubrics", "reward_model", "extra_info", "prompt_metadata", "ground_truth", "checkers", "functions",
    "instruction_id_list", "reference", "reference_answer", "rubric_items",
})  # fmt: skip
"""Keys of a row that may hold a rubric, rules or a reference, besides the group's ``rubric`` and ``constraints``."""
READ_KEYS: Final = STANDARDS_KEYS | {"kwargs"}
"""Keys of a row that ``read_standards`` reads, besides ``rubric``."""
HOLDERS: Final = ("reward_model", "extra_info", "prompt_metadata")
"""Keys of objects that may hold what the row itself may."""
_RULES: Final = {"checkers": ("checkers", "functions"), "instruction_id_list": ("instruction_id_list", "kwargs")}
_CRITERIA_TEXT: Final = re.compile(r'\s*(?:\[\s*)?\{\s*"')
"""How criteria begin as JSON text. A rubric that begins so and is not JSON is damaged, and not standards in words."""


@dataclass(frozen=True, slots=True)
class StatedValue:
    """A rubric, rules or a reference in a row, and its place there, such as ``extra_info.reward_model.rubrics``."""

    place: str
    value: Any


@dataclass(frozen=True, slots=True)
class Standards:
    """What a row requires of answers.

    ``rules`` contains ``checkers`` and ``functions``, or ``instruction_id_list`` and ``kwargs``.
    """

    rubric: str | Rubric | None = None
    rubric_place: str = ""
    rules: StatedValue | None = None
    reference: StatedValue | None = None


def read_standards(row: Mapping[str, Any], *, pitfalls: Pitfalls = "penalty", rubric: bool = True) -> Standards:
    """Return the rubric, rules and reference in a data set's ``row`` (plain data); ``rubric=False`` skips the rubric.

    Copies in several places count once. Raises InputError naming the place of a value that cannot be read, or both
    places of two values that differ.
    """
    holders = list(_holders(row))
    read = _single(_rubrics(holders, pitfalls), "rubric") if rubric else None
    rules = _single(_rules(holders), "set of rules")
    value, place = (None, "") if read is None else (read.value, read.place)
    return Standards(value, place, rules, next(_references(holders), None))


def references_in_row(row: Mapping[str, Any]) -> list[StatedValue]:
    """Return the reference answers beside the rubric of a data set's row, each only once.

    The judge is shown the first.
    """
    if STANDARDS_KEYS.isdisjoint(row):
        return []
    by_text: dict[str, StatedValue] = {}
    for reference in _references(list(_holders(row))):
        by_text.setdefault(str(reference.value).strip(), reference)
    return list(by_text.values())


_Holder = tuple[str, Mapping[str, Any]]
"""An object that may hold a rubric, rules or a reference, after what precedes its keys in the names of places."""


def _holders(row: Mapping[str, Any]) -> Iterator[_Holder]:
    """Yield the row, the objects in it that may hold standards, and the ground truths of both."""
    holders: list[_Holder] = [("", row)]
    for key in HOLDERS:
        inner = parse_json_text(row.get(key), key)
        if isinstance(inner, Mapping):
            holders.append((f"{key}.", inner))
            deeper = parse_json_text(inner.get("reward_model"), f"{key}.reward_model")
            holders += [(f"{key}.reward_model.", deeper)] if isinstance(deeper, Mapping) else []
    yield from holders
    for prefix, holder in holders:
        if (truth := ground_truth_object(holder.get("ground_truth"))) is not None:
            yield f"{prefix}ground_truth.", truth


def _single(found: Iterator[StatedValue], what: str) -> StatedValue | None:
    """Return the first of equal values; None if there are none. Raises InputError for two that differ."""
    first = next(found, None)
    for value in found:
        if first is not None and _comparable(value.value) != _comparable(first.value):
            raise InputError(f"the {what} in {first.place} differs from the {what} in {value.place}: remove one")
    return first


def _comparable(value: Any) -> object:
    """Return what copies of a rubric or of rules share: tags may differ, and Parquet adds arguments of other rows."""
    if isinstance(value, str):
        return value.strip()
    if isinstance(value, Rubric):
        return [(criterion.text, criterion.points, criterion.veto, criterion.rule) for criterion in value.criteria]
    stated = [fields if isinstance(fields, Mapping) else {} for fields in value.get("kwargs") or ()]
    kwargs = [{key: item for key, item in fields.items() if item is not None} for fields in stated]
    return {**value, "kwargs": kwargs if any(kwargs) else []}


def _rubrics(holders: Sequence[_Holder], pitfalls: Pitfalls) -> Iterator[StatedValue]:
    read: list[Any] = []
    for prefix, holder in holders:
        for key in ("rubric", "rubrics", "rubric_items"):
            value = holder.get(key)
            if _is_filled(value) and value not in read:
                read.append(value)
                yield StatedValue(f"{prefix}{key}", parse_row_rubric(value, f"{prefix}{key}", pitfalls=pitfalls))


def _rules(holders: Sequence[_Holder]) -> Iterator[StatedValue]:
    for prefix, holder in holders:
        for key, names in _RULES.items():
            if _is_filled(holder.get(key)):
                yield StatedValue(f"{prefix}{key}", {name: holder[name] for name in names if name in holder})
        sources = holder.get("functions")  # or the tools that a model may call
        if (
            "checkers" not in holder
            and isinstance(sources, Sequence)
            and any("def " in str(source) for source in sources)
        ):
            yield StatedValue(f"{prefix}functions", {"functions": sources})
        if (listed := _instructions_in(holder.get("ground_truth"), f"{prefix}ground_truth")) is not None:
            yield StatedValue(f"{prefix}ground_truth", listed)


def _instructions_in(truth: Any, place: str) -> dict[str, Any] | None:
    """Return the instructions in a label of open-instruct's IFEval rows, a list of ``instruction_id`` and ``kwargs``.

    None for any other ground truth. Raises InputError for a label that names functions of open-instruct.
    """
    if isinstance(truth, str) and truth.lstrip()[:1] in ("[", "{") and ("instruction_id" in truth or "func_" in truth):
        with suppress(ValueError, SyntaxError, RecursionError, MemoryError):
            truth = _value_in_json(truth, ("[", "{"))
            truth = ast.literal_eval(truth.strip()) if isinstance(truth, str) else truth
    listed = [truth] if isinstance(truth, Mapping) else truth
    if not isinstance(listed, list) or not listed or not all(isinstance(item, Mapping) for item in listed):
        return None
    if any("func_name" in item for item in listed):
        raise InputError(f"{place}: func_name is not read; write IFEval's instruction_id_list and kwargs")
    if not all(isinstance(item.get("instruction_id"), list) for item in listed):
        return None
    ids = [name for item in listed for name in item["instruction_id"]]
    arguments = [item.get("kwargs") or [None] * len(item["instruction_id"]) for item in listed]
    return {"instruction_id_list": ids, "kwargs": [fields or {} for part in arguments for fields in part]}


def _references(holders: Sequence[_Holder]) -> Iterator[StatedValue]:
    for prefix, holder in holders:
        for key in ("reference", "reference_answer", "ground_truth"):
            value = holder.get(key)
            truth = ground_truth_object(value) if key == "ground_truth" else None
            if truth is not None and not STANDARDS_KEYS.isdisjoint(
                {*truth, *(["reference"] if "prompt" in truth else [])}
            ):
                continue  # its keys are read separately, as those of a holder
            if key == "ground_truth" and _instructions_in(value, f"{prefix}{key}") is not None:
                continue
            if _is_filled(value):
                yield StatedValue(f"{prefix}{key}", value)


def parse_row_rubric(value: Any, place: str, *, pitfalls: Pitfalls = "penalty") -> str | Rubric:
    """Read the rubric at ``place`` of a row: text, or criteria in the form of a known data set. Raises InputError."""
    if isinstance(value, str):
        value = _value_in_json(value, ("[", "{"))
    if isinstance(value, str):
        if place.endswith("rubrics"):
            raise InputError(f"{place}: it must be a list of criteria, not text")
        if _CRITERIA_TEXT.match(value):
            parse_json_text(value, place or "the rubric")
        return value
    try:
        return as_rubric(normalise_criteria(list(value), pitfalls) if isinstance(value, list | tuple) else value)
    except (ConfigError, InputError) as error:
        raise InputError(f"{place}: {error}" if place else str(error)) from None


def _value_in_json(value: Any, begins: Sequence[str]) -> Any:
    """Return the value inside a JSON string that begins with one of ``begins``; any other value unchanged."""
    if isinstance(value, str) and value.lstrip()[:1] in begins:
        with suppress(ValueError, RecursionError):
            return json.loads(value)
    return value


def parse_json_text(value: Any, place: str) -> Any:
    """Return the value inside a JSON string of a row of rubrics or other standards; InputError for broken JSON."""
    if isinstance(value, str) and value.lstrip()[:1] in ("[", "{"):
        try:
            return json.loads(value)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{place}: its JSON text is not JSON: {error}") from None
    return value


def ground_truth_object(value: Any) -> Mapping[str, Any] | None:
    """Return a row's ground truth, which may hold a rubric, if it is an object or an object's JSON text; else None."""
    value = _value_in_json(value, ("{",))
    return value if isinstance(value, Mapping) else None


def row_prompt(row: Mapping[str, Any]) -> Any:
    """Return the prompt of a row, as text or a list of messages, from whichever field holds it; None if none does.

    An ``input`` follows its ``instruction`` after an empty line.
    """
    if row.get("conversation_history") or row.get("prompt_metadata"):
        return parse_json_text(row.get("conversation_history") or row.get("prompt"), "conversation_history")
    inner, conversation = parse_json_text(row.get("extra_info"), "extra_info"), row.get("conversation")
    for key, holder in (
        ("prompt", row), ("prompt", inner), ("question", row), ("messages", conversation), ("query", row),
        ("messages", row), ("prompts", row),
    ):  # fmt: skip
        if isinstance(holder, Mapping) and holder.get(key):
            return holder[key]
    parts = [row.get(key) for key in ("instruction", "input")]
    text = "\n\n".join(part for part in parts if isinstance(part, str) and part.strip())
    truth = ground_truth_object(row.get("ground_truth"))  # DR Tulu's has the query
    return text or (row_prompt(truth) if truth else None)


def _is_filled(value: Any) -> bool:
    """Return whether a value is not blank: in tables, keys of other rows are empty lists or nulls."""
    if isinstance(value, str):
        return bool(value.strip())
    return value is not None and (not isinstance(value, Sequence | Mapping) or len(value) > 0)


def text_of_reference(reference: Any) -> str:
    """Return a reference answer, given beside or instead of a rubric, as the text that the judge sees.

    Empty if there is no reference.
    """
    if reference is None or isinstance(reference, str):
        return reference or ""
    return json.dumps(reference, ensure_ascii=False, default=str)


def without_rubrics(group: TrajectoryGroup) -> TrajectoryGroup:
    """Return the group without its own rubric and without those of its trajectories."""
    members = tuple(replace(trajectory, rubric=None) for trajectory in group.trajectories)
    return replace(group, rubric=None, trajectories=members)
