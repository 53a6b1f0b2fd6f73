"""Read recorded judgments: each is an answer of a judge about a group, with its cost.

Lines are checked, not interpreted: ``series`` turns winners and rankings into numbers.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import astuple, dataclass
from typing import Any, Final, Literal, TypeAlias, TypeVar, cast, get_args

from calipers.errors import InputError
from calipers.inputs import records
from calipers.inputs.groups import id_text
from calipers.inputs.plain import type_in_words
from calipers.inputs.records import is_table, table_rows
from calipers.types import GroupStatus
from calipers.types.encoding import LARGEST, finite_number

Mode: TypeAlias = Literal["pointwise", "pairwise", "listwise"]
Measure: TypeAlias = Literal["usd", "tokens", "shown", "calls"]
"""The unit of a cost: US dollars; tokens in and out; transcripts, counted each time a judge reads them; judge calls."""
T = TypeVar("T")
TIE: Final = "tie"
_JSON_COLUMNS: Final[Mapping[str, Any]] = {"parsed": {}, "scale": {}, "usage": {}}
"""Columns of a data frame of judgments that may be JSON text."""
_SHAPE: Final = (
    '{"group_id": "g1", "judge": "...", "mode": "pointwise", "order": ["a", "b"], '
    '"parsed": {"scores": {"a": 7, "b": 4}}}'
)


@dataclass(frozen=True, slots=True)
class Cost:
    """``calls`` of a judge, ``shown`` transcripts that it read in them, tokens and dollars; None is unknown, not 0."""

    calls: float
    shown: float
    input_tokens: float | None = None
    output_tokens: float | None = None
    cost_usd: float | None = None

    def times(self, factor: float) -> Cost:
        """Return the cost multiplied by ``factor``."""
        amounts: list[Any] = [None if amount is None else amount * factor for amount in astuple(self)]
        return Cost(*amounts)

    def of(self, measure: Measure) -> float | None:
        """Return the amount of ``measure``; None if unknown."""
        if measure == "tokens":
            read, written = self.input_tokens, self.output_tokens
            return None if read is None or written is None else read + written
        return self.cost_usd if measure == "usd" else self.shown if measure == "shown" else self.calls

    @staticmethod
    def total(costs: Iterable[Cost]) -> Cost:
        """Return the sum; tokens and dollars are unknown if they are unknown in any of ``costs``."""
        columns = zip(*map(astuple, [Cost(0, 0, 0, 0, 0.0), *costs]), strict=True)
        sums: list[Any] = [None if None in column else sum(column) for column in columns]
        return Cost(*sums)


NOTHING: Final = Cost(0, 0)
"""The cost of a group without any answer."""


def shared_measure(costs: Iterable[Cost]) -> Measure:
    """Return the measure that all ``costs`` have: dollars, otherwise tokens, otherwise transcripts."""
    every = list(costs)
    candidates: tuple[Measure, ...] = ("usd", "tokens")
    for measure in candidates:
        known = [cost.of(measure) for cost in every]
        if any(known) and None not in known:
            return measure
    return "shown"


@dataclass(frozen=True, slots=True)
class Key:
    """Records with the same key are answers of the same judge to the same kind of question."""

    judge: str
    mode: Mode
    prompt_variant: str | None
    temperature: float | None

    @property
    def asked(self) -> str:
        """How the judge was asked, as text: "listwise, v2, t=0.7"."""
        heat = None if self.temperature is None else f"t={self.temperature:g}"
        return ", ".join(filter(None, (self.mode, self.prompt_variant, heat)))


@dataclass(frozen=True, slots=True)
class Record:
    """An answer. Exactly one of ``scores``, ``winner`` and ``ranking`` is set, or none if the answer could not be read.

    ``order`` holds the ids in the prompt's order, or if not ``ordered`` those of the answer, sorted; ``winner`` is one
    of them or "tie", by ``margin`` (0-1; 1 if only the winner is known). Scores are finite and in units of ``scale``.
    ``status`` says why there is no answer. ``numbered`` is False if the file has no sample index; ``sample`` is then 0.
    """

    group_id: str
    key: Key
    order: tuple[str, ...]
    sample: int
    scores: Mapping[str, float] | None = None
    winner: str | None = None
    ranking: tuple[str, ...] | None = None
    scale: tuple[float, float] | None = None
    margin: float = 1.0
    cost: Cost = NOTHING
    status: GroupStatus | None = None
    numbered: bool = True
    ordered: bool = True


def as_records(judgments: object, *, on_error: Callable[[InputError], None] | None = None) -> Iterator[Record]:
    """Yield records from a ``.jsonl`` or ``.jsonl.gz`` file, a data frame, or an iterable of its objects or of Records.

    Raises InputError for anything else, and for a file that cannot be read or is empty. For bad lines, see
    ``converted``.
    """
    return converted(judgments, as_record, noun="judgment", on_error=on_error)


def converted(
    values: object,
    convert: Callable[[object], T],
    *,
    noun: str,
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[T]:
    """Yield ``convert`` of each object of a JSON lines file, a data frame or an iterable.

    A bad object is passed to ``on_error`` as an InputError with its place and remedy, and skipped; without
    ``on_error``, it is raised.
    """
    if isinstance(values, str | os.PathLike):
        source, rows = os.fspath(values), records.read_json_lines(values)
    elif not isinstance(values, Iterable) or isinstance(values, bytes | Mapping):
        raise InputError(f"{noun}s are a file or a list of objects, not {type_in_words(values)}")
    else:
        source, rows = None, table_rows(values, _JSON_COLUMNS) if is_table(values) else enumerate(values, 1)
    lines = 0
    for lines, value in rows:
        try:
            yield convert(records.known_row(value))
        except InputError as error:
            placed = InputError(str(error), source=source, line=lines) if source else None
            placed = placed or InputError(f"{noun} {lines}: {error}")
            if on_error is None:
                raise placed from None
            on_error(placed)
    if source and not lines:
        raise InputError(f"holds no {noun}s, one JSON object a line", source=source)


def as_record(value: object) -> Record:
    """Return an object of a judgments file, checked. Raises InputError with the problem and what was expected."""
    if isinstance(value, Record):
        return value
    if not isinstance(value, Mapping) or "trajectories" in value:  # a group, or a result
        raise InputError(f"is not a judgment; expected {_SHAPE}")
    if "parsed" not in value and (outside := value.keys() & {"scores", "winner", "ranking"}):
        raise InputError(f"{outside.pop()!r} belongs inside 'parsed'; expected {_SHAPE}")
    order = value.get("order")
    if order is not None and (not isinstance(order, list | tuple) or not order):
        raise InputError(f"'order' must list the ids as shown; expected {_SHAPE}")
    if value.get("format") is not None and value.get("parsed") is None:
        raise InputError("'parsed' is missing: read 'raw_text' with calipers.extract_choice or extract_scores")
    scale = _scale(value.get("scale"))
    ids = _ids(order or (), "order")
    answer = _answer(value.get("parsed"), ids, scale)
    ids = ids or tuple(sorted(answer.get("ranking") or (value.get("parsed") or {}).get("scores") or ()))
    if not ids:
        raise InputError(f"'order' is needed where 'parsed' has no scores and no ranking; expected {_SHAPE}")
    sample = value.get("sample_index")
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int)):
        raise InputError("'sample_index' must be an integer")
    status = value.get("status")
    if status is not None and status not in get_args(GroupStatus):
        raise InputError(f"'status' is {status!r:.40}; known: {', '.join(get_args(GroupStatus))}")
    key = _key(value, answer, ids)
    return Record(
        id_text(value.get("group_id"), "'group_id'"),
        key,
        ids,
        sample or 0,
        scale=scale,
        cost=NOTHING if status and not answer and value.get("usage") is None else _cost(value, key, ids),
        status=status,
        numbered=sample is not None,
        ordered=order is not None,
        **answer,
    )


def _key(value: Mapping[str, Any], answer: Mapping[str, Any], ids: tuple[str, ...]) -> Key:
    mode = value.get("mode")
    if mode is None:
        mode = "pairwise" if "winner" in answer else "listwise" if "ranking" in answer else "pointwise"
    if mode not in get_args(Mode):
        raise InputError(f"'mode' is {mode!r}; known: {', '.join(get_args(Mode))}")
    if mode == "pairwise" and len(ids) != 2:
        raise InputError(f"'mode' is pairwise but 'order' names {len(ids)} ids instead of 2")
    # Each criterion that a judge was asked about is another question, as a prompt variant is.
    variants = [
        id_text(value[key], f"{key!r}") for key in ("prompt_variant", "criterion") if value.get(key) is not None
    ]
    heat = value.get("temperature")
    return Key(
        id_text(value.get("judge"), "'judge'"),
        cast("Mode", mode),
        ", ".join(variants) or None,
        None if heat is None else _finite(heat, "'temperature'"),
    )


def _answer(parsed: object, order: tuple[str, ...], scale: tuple[float, float] | None) -> dict[str, Any]:
    """Return the parsed answer, by the name of a Record's field; empty if there is none.

    A score off its ``scale`` is unread.
    """
    if parsed is None:
        return {}
    if not isinstance(parsed, Mapping):
        raise InputError("'parsed' must be an object with 'scores', 'winner' or 'ranking', or null")
    scores, winner, ranking = parsed.get("scores"), parsed.get("winner"), parsed.get("ranking")
    if scores is not None:
        if not isinstance(scores, Mapping):
            raise InputError("'parsed.scores' must be an object of numbers by id")
        low, high = scale or (-math.inf, math.inf)
        named = ((id_text(name, "an id in 'scores'"), score) for name, score in scores.items() if score is not None)
        known = {name: _finite(score, "a score") for name, score in named}
        return {"scores": {name: score for name, score in known.items() if low <= score <= high}}
    if ranking is not None:
        if not isinstance(ranking, list | tuple):
            raise InputError("'parsed.ranking' must list ids, best first")
        return {"ranking": _ids(ranking, "parsed.ranking")}
    if winner is None:
        return {}
    return _winner(id_text(winner, "'parsed.winner'"), parsed.get("margin"), order)


def _winner(name: str, margin: object, order: tuple[str, ...]) -> dict[str, Any]:
    if name == TIE and TIE in order:
        raise InputError('an id in \'order\' is "tie", so the winner "tie" would be ambiguous')
    if not order:
        raise InputError(f"'order' is needed where 'parsed' names a winner; expected {_SHAPE}")
    if len(order) != 2 or name not in (*order, TIE):
        raise InputError(f"'parsed.winner' is {name!r}, which is neither of two ids in 'order' nor \"tie\"")
    size = 1.0 if margin is None else _finite(margin, "'parsed.margin'")
    if not 0 <= size <= 1:
        raise InputError(f"'parsed.margin' is {size:g}; it must be a number from 0 to 1")
    return {"winner": name if size else TIE, "margin": size if name != TIE else 0.0}


def _cost(value: Mapping[str, Any], key: Key, order: Sequence[str]) -> Cost:
    """Return the answer's cost: one call, or, if pointwise, one per id; tokens and dollars if recorded."""
    usage = value.get("usage")
    if usage is not None and not isinstance(usage, Mapping):
        raise InputError("'usage' must be an object with 'input_tokens', 'output_tokens' and 'cost_usd', or null")
    spent = [_amount(usage or {}, name) for name in ("input_tokens", "output_tokens", "cost_usd")]
    shown = _amount(value, "shown")
    return Cost(len(order) if key.mode == "pointwise" else 1, len(order) if shown is None else shown, *spent)


def _amount(value: Mapping[str, Any], name: str) -> float | None:
    if value.get(name) is None:
        return None
    amount = _finite(value[name], f"{name!r}")
    if amount < 0:
        raise InputError(f"{name!r} is {amount:g}: it must not be negative")
    return amount


def _scale(scale: object) -> tuple[float, float] | None:
    if scale is None:
        return None
    if not isinstance(scale, list | tuple) or len(scale) != 2:
        raise InputError("'scale' must be [lowest, highest]")
    low, high = (_finite(end, "'scale'") for end in scale)
    if low >= high:
        raise InputError(f"'scale' is [{low:g}, {high:g}]; its first number must be the lower one")
    return low, high


def _ids(names: Sequence[object], field: str) -> tuple[str, ...]:
    ids = tuple(id_text(name, f"an id in {field!r}") for name in names)
    if len(set(ids)) < len(ids):
        raise InputError(f"{field!r} names an id twice")
    return ids


def _finite(value: object, what: str) -> float:
    number = finite_number(value)
    if number is None or abs(number) > LARGEST:
        raise InputError(f"{what} must be a finite number, at most {LARGEST:g} in size")
    return number
