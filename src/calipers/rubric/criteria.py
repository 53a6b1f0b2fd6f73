"""Reads a rubric's criteria from plain data and checks them; an error names the criterion and the field."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from difflib import get_close_matches
from typing import Any, Final

from calipers.errors import ConfigError
from calipers.types import Criterion, Rubric
from calipers.types.encoding import finite_number

RULES: Final = ("math_verify", "word_count_range")
"""The functions that a rule in RuscaRL's form may name. Any other rule names a verifier."""
_RUBRIC_KEYS = frozenset(field.name for field in fields(Rubric))
_CRITERION_KEYS = frozenset(field.name for field in fields(Criterion))
_TEXT_KEYS = ("text", "criterion", "description", "question")
_POINTS_KEYS = ("points", "weight")
_VERIFIERS = ("llm", "rule")
_RULE = '{"regex": {"pattern": "..."}}'
_SHAPE = 'a rubric is {"criteria": [{"id": "cites", "text": "Names its source.", "points": 3}, ...]}'


def as_rubric(value: object) -> Rubric:
    """Return ``value`` as a checked Rubric. It is a Rubric, a rubric as plain data, or a list of criteria.

    A criterion given as text is worth one point. Raises ConfigError that names the criterion and field that cannot be
    read, or says why the criteria are no rubric.
    """
    if isinstance(value, Rubric):
        check_rubric(value)
        return value
    if isinstance(value, list | tuple):
        value = {"criteria": value}
    if not isinstance(value, Mapping):
        raise ConfigError(f"a rubric cannot be of type {type(value).__name__}; {_SHAPE}")
    _refuse_unknown(value, _RUBRIC_KEYS, "the rubric")
    listed = value.get("criteria")
    if not isinstance(listed, list | tuple):
        raise ConfigError(f"the rubric has no list of criteria; {_SHAPE}")
    rubric = Rubric(
        tuple(as_criterion(item, place) for place, item in enumerate(listed, start=1)),
        title=_text(value.get("title") or "", "title"),
        all_negative=value.get("all_negative") or "refuse",
        veto_floor=_number(_first_value(value, ("veto_floor",), 0.0), "veto_floor"),
    )
    check_rubric(rubric)
    return rubric


def as_criterion(value: object, place: int) -> Criterion:
    """Read one criterion of a rubric from an object or a text; ``place`` (from 1) names it (``c1``) if it has no id."""
    if isinstance(value, Criterion):
        return value
    if isinstance(value, str):
        return Criterion(f"c{place}", value)
    where = f"criterion {place}"
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: it must be text or an object, not {type(value).__name__}")
    _refuse_unknown(value, _CRITERION_KEYS | {*_TEXT_KEYS, *_POINTS_KEYS}, where)
    tags, rule = tags_and_rule(value.get("tags"), where)
    veto = _first_value(value, ("veto",), False)
    if not isinstance(veto, bool):
        raise ConfigError(f"{where}: veto must be true or false, not {veto!r}")
    stated_id = value.get("id")
    return Criterion(
        id=f"c{place}" if stated_id is None else _name(stated_id, where),
        text=_text(_first_value(value, _TEXT_KEYS), f"{where}: text"),
        points=_number(1.0 if (stated := stated_points(value, where)) is None else stated, f"{where}: points"),
        tags=tags,
        veto=veto,
        rule=_rule(value["rule"], where) if value.get("rule") else rule,
    )


def stated_points(value: Mapping[str, Any], where: str) -> object:
    """Return a criterion's points, which may be called weight; None if it states none. Raises ConfigError if the two
    differ: nothing says which of them is meant.
    """
    points, weight = (value.get(key) for key in _POINTS_KEYS)
    if points is not None and weight is not None and points != weight:
        raise ConfigError(f"{where}: its 'points' and its 'weight' differ; keep one of the two")
    return weight if points is None else points


def tags_and_rule(value: object, where: str) -> tuple[tuple[str, ...], Mapping[str, Any] | None]:
    """Read a criterion's tags (an object, ``"key:value"`` texts, or bare words), and the rule they describe, if any.

    With the tag ``verifier: llm`` there is no rule, even if the tags also name a function: Parquet gives every row all
    keys.
    """
    if value is None:
        return (), None
    if isinstance(value, Mapping):
        stated = {str(key): item for key, item in value.items() if item is not None}
        parts = {} if "verifier" not in stated else {"function": 0, "parameters": 0}
        tags = tuple(f"{key}:{item}" for key, item in stated.items() if key not in parts)
        listed: list[object] = [item for key, item in stated.items() if key not in parts]
    elif isinstance(value, list | tuple):
        tags, listed = tuple(map(str, value)), [item if isinstance(item, str) else [item] for item in value]
        stated = dict(tag.split(":", 1) for tag in tags if ":" in tag)
    else:
        raise ConfigError(f"{where}: tags must be a list or an object, not {type(value).__name__}")
    for item in listed:
        if isinstance(item, Mapping | list | tuple) or not str(item).strip():
            raise ConfigError(f"{where}: tags are words or key:value texts, not {item!r}")
    verifier = stated.get("verifier")
    if verifier not in (None, *_VERIFIERS):
        raise ConfigError(f"{where}: the tag verifier:{verifier} is unknown; known: {', '.join(_VERIFIERS)}")
    is_rule = verifier == "rule" and (isinstance(value, Mapping) or "function" in stated)
    return tags, _rule(stated, where) if is_rule else None


def check_rubric(rubric: Rubric) -> None:
    """Raise ConfigError, naming criterion and field, if no score can be computed with this rubric."""
    if not rubric.criteria:
        raise ConfigError(f"the rubric has no criteria; {_SHAPE}")
    if rubric.all_negative not in ("refuse", "from_one"):
        raise ConfigError(f"all_negative={rubric.all_negative!r}: it must be refuse or from_one")
    if not rubric.veto_floor < 1:
        raise ConfigError(f"veto_floor={rubric.veto_floor!r}: it must be below 1, the highest score, to limit any")
    seen: dict[str, int] = {}
    for place, criterion in enumerate(rubric.criteria, start=1):
        if not isinstance(criterion, Criterion):
            raise ConfigError(f"criterion {place} is not a Criterion: {criterion!r:.80}; {_SHAPE}")
        first = seen.setdefault(criterion.id, place)
        if first != place:
            raise ConfigError(f"criteria {first} and {place} have the same id {criterion.id!r}; each needs its own")
        _check_criterion(criterion, f"criterion {place} ({criterion.id!r})")
    if not any(criterion.points for criterion in rubric.criteria):
        raise ConfigError("all criteria have 0 points, so none of them counts: give points to at least one")
    _check_sizes([float(criterion.points) for criterion in rubric.criteria])
    positive = any(criterion.points > 0 for criterion in rubric.criteria)
    if not positive and rubric.all_negative == "refuse":
        raise ConfigError(
            "no criterion has positive points, so there is nothing to divide by. Add such a criterion, or set "
            'all_negative = "from_one", with which the score begins at 1, and every criterion met lowers it'
        )
    if positive and rubric.all_negative == "from_one":
        raise ConfigError('all_negative = "from_one" is for rubrics without positive points, and this one has some')


def _check_sizes(points: Sequence[float]) -> None:
    """Raise ConfigError if a score, a sum of ``points`` divided by the positive ones, could be no finite number."""
    total = sum(map(abs, points))
    if not math.isfinite(total):
        raise ConfigError("the points of all criteria together are too large for a number: write smaller ones")
    if not math.isfinite(total / min((point for point in points if point > 0), default=1.0)):
        raise ConfigError("the points of the criteria differ too much in size: no score can be computed from them")


def criteria_as_text(rubric: Rubric) -> str:
    """Return the criteria as text, with a line for each, for judges that compare attempts as a whole."""
    with_points = [criterion for criterion in rubric.criteria if criterion.points]
    return "\n".join(f"- {'Avoid: ' if criterion.points < 0 else ''}{criterion.text}" for criterion in with_points)


def _check_criterion(criterion: Criterion, where: str) -> None:
    if not isinstance(criterion.text, str) or not criterion.text.strip():
        raise ConfigError(f"{where}: its text is empty")
    points = _number(criterion.points, f"{where}: points")
    if points == 0 and criterion.veto:
        raise ConfigError(f"{where}: a veto needs points that say whether it is desired (above 0) or not (below)")


def _refuse_unknown(value: Mapping[Any, Any], known: frozenset[str], where: str) -> None:
    for key in value:
        if key not in known:
            near = get_close_matches(str(key), sorted(known), n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known: {', '.join(sorted(known))}"
            raise ConfigError(f"{where}: unknown field {key!r}; {hint}")


def _first_value(value: Mapping[str, Any], keys: Sequence[str], default: object = None) -> object:
    """Return the first value of ``keys`` that is not None: in tables, keys of other rows are None."""
    return next((value[key] for key in keys if value.get(key) is not None), default)


def _rule(value: object, where: str) -> Mapping[str, Any]:
    if isinstance(value, str):
        return {value: {}}
    if not isinstance(value, Mapping):
        raise ConfigError(f"{where}: rule must be an object such as {_RULE}, not {type(value).__name__}")
    if "function" not in value and "parameters" not in value:
        if len(value) != 1:
            raise ConfigError(
                f"{where}: rule must be one check with its arguments, as in {_RULE}, not {dict(value)!r:.80}"
            )
        return dict(value)
    function = value.get("function")
    if function not in RULES:
        raise ConfigError(f"{where}: the rule's function {function!r} is unknown; known: {', '.join(RULES)}")
    parameters = value.get("parameters") or {}
    if isinstance(parameters, str):  # tags given as text hold their parameters as JSON
        try:
            parameters = json.loads(parameters)
        except (ValueError, RecursionError) as error:
            raise ConfigError(f"{where}: the rule's parameters are not JSON: {error}") from None
    if not isinstance(parameters, Mapping):
        raise ConfigError(f"{where}: the rule's parameters must be an object, not {type(parameters).__name__}")
    return {"function": function, "parameters": {key: item for key, item in parameters.items() if item is not None}}


def _name(value: object, where: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value.strip():
        raise ConfigError(f"{where}: id must be non-empty text, not {value!r}")
    return value


def _text(value: object, where: str) -> str:
    if not isinstance(value, str):
        raise ConfigError(
            f"{where} " + ("is missing" if value is None else f"must be text, not {type(value).__name__}")
        )
    return value


def _number(value: object, where: str) -> float:
    if finite_number(value) is None:
        shown = type(value).__name__ if isinstance(value, int) else repr(value)
        raise ConfigError(f"{where} must be a finite number, not {shown}")
    assert isinstance(value, int | float)  # noqa: S101 - a finite number
    return value
