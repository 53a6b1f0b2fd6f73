"""Read a file of recorded judgments: each line is an answer of a judge about a group.

Lines are checked, not interpreted: ``series`` turns winners and rankings into numbers. Reading is the only I/O of this
package.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, Literal, TypeAlias, cast, get_args

from calipers.calibration.costs import NOTHING, Cost
from calipers.calibration.raw_replies import parse_raw_reply
from calipers.errors import InputError
from calipers.inputs import records
from calipers.inputs.plain import type_in_words
from calipers.inputs.records import is_table, table_rows
from calipers.types import GroupStatus
from calipers.types.encoding import LARGEST

Mode: TypeAlias = Literal["pointwise", "pairwise", "pairwise_scores", "listwise"]
TIE = "tie"
_JSON_COLUMNS: Final[Mapping[str, Any]] = {"parsed": {}, "scale": {}, "usage": {}}
"""Columns of a data frame of judgments that may be JSON text."""
_SHAPE = (
    '{"group_id": "g1", "judge": "...", "mode": "pointwise", "order": ["a", "b"], '
    '"parsed": {"scores": {"a": 7, "b": 4}}}'
)


@dataclass(frozen=True, slots=True)
class Key:
    """Records with the same key are answers of the same judge to the same kind of question."""

    judge: str
    mode: Mode
    prompt_variant: str | None
    temperature: float | None
    criterion: str | None

    @property
    def protocol(self) -> str:
        """The protocol of a run that asks this kind of question."""
        return self.mode.removesuffix("_scores")


@dataclass(frozen=True, slots=True)
class Record:
    """An answer. Exactly one of ``scores``, ``winner`` and ``ranking`` is set, or none if the answer could not be read.

    ``order`` holds the ids in the prompt's order; ``winner`` is one of them or "tie", by ``margin`` (0-1; 1 if only the
    winner is known). Scores are finite and in units of ``scale``. ``cost`` is the answer's cost. ``status`` says why
    there is no answer. ``numbered`` is False if the file has no sample index, and ``sample`` is then 0.
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


def read_judgments(
    path: str | os.PathLike[str],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
    on_error: Callable[[InputError], None] | None = None,
) -> Iterator[Record]:
    """Yield the judgments to calibrate of a ``.jsonl`` or ``.jsonl.gz`` file, in order.

    ``format`` is for lines that name none.

    A bad line is passed to ``on_error`` as an InputError with file, line and remedy, and skipped; without ``on_error``,
    it is raised. Raises InputError for a file that cannot be read or is empty.
    """
    found = False

    def record(value: Mapping[str, Any] | str, _: int) -> Record:
        nonlocal found
        found = True
        return as_record(value, format=format)

    yield from records.convert_rows(records.read_json_lines(path), record, source=os.fspath(path), on_error=on_error)
    if not found:
        raise InputError(f"holds no judgments; expected one JSON object a line: {_SHAPE}", source=os.fspath(path))


def as_records(judgments: object, *, on_error: Callable[[InputError], None] | None = None) -> Iterator[Record]:
    """Yield records to calibrate from a path, or from an iterable of objects of a judgments file or of Records.

    Raises InputError for anything else.
    """
    if isinstance(judgments, str | os.PathLike):
        yield from read_judgments(judgments, on_error=on_error)
        return
    if not isinstance(judgments, Iterable) or isinstance(judgments, bytes | Mapping):
        raise InputError(f"judgments are a file or a list of objects, not {type_in_words(judgments)}")
    rows = table_rows(judgments, _JSON_COLUMNS) if is_table(judgments) else enumerate(judgments, start=1)
    for place, value in rows:
        try:
            yield value if isinstance(value, Record) else as_record(value)
        except InputError as error:
            placed = InputError(f"judgment {place}: {error}")
            if on_error is None:
                raise placed from None
            on_error(placed)


def as_record(value: object, *, format: str | None = None) -> Record:  # noqa: A002 - what people call it
    """Return an object of a judgments file, checked for calibration.

    Raises InputError with the problem and what was expected.

    ``format`` is the reply format of an unparsed ``raw_text`` that names none.
    """
    if isinstance(value, str):
        raise InputError(value)
    if not isinstance(value, Mapping):
        raise InputError(f"is not an object; expected {_SHAPE}")
    order = value.get("order")
    if not isinstance(order, list | tuple) or not order:
        raise InputError(f"'order' must list the ids as shown; expected {_SHAPE}")
    ids = tuple(_text(one, "an id in 'order'") for one in order)
    if len(set(ids)) < len(ids):
        raise InputError("'order' names an id twice")
    form = value.get("format", format)
    if form is not None and value.get("parsed") is None and value.get("raw_text") is not None:
        value = {**value, **parse_raw_reply(value, ids, _text(form, "'format'"))}
    parsed = value.get("parsed")
    if parsed is not None and not isinstance(parsed, Mapping):
        raise InputError("'parsed' must be an object with 'scores', 'winner' or 'ranking', or null")
    read = _parsed_answer(parsed or {}, ids)
    sample = value.get("sample_index")
    if sample is not None and (isinstance(sample, bool) or not isinstance(sample, int)):
        raise InputError("'sample_index' must be an integer")
    key = _key(value, read)
    group_id = _text(value.get("group_id"), "'group_id'")
    status = value.get("status")
    if status is not None and status not in get_args(GroupStatus):
        raise InputError(f"'status' is {status!r:.40}; known: {', '.join(get_args(GroupStatus))}")
    cost = NOTHING if status and not read and value.get("usage") is None else _cost(value, key, ids)
    return Record(
        group_id,
        key,
        ids,
        sample or 0,
        scale=_scale(value),
        cost=cost,
        status=status,
        numbered=sample is not None,
        **read,
    )


def _cost(value: Mapping[str, Any], key: Key, order: Sequence[str]) -> Cost:
    """Return the answer's cost: one call, or, if pointwise, one per id; tokens and dollars if recorded."""
    usage = value.get("usage")
    if usage is not None and not isinstance(usage, Mapping):
        raise InputError("'usage' must be an object with 'input_tokens', 'output_tokens' and 'cost_usd', or null")
    spent = [_amount(usage, name) for name in ("input_tokens", "output_tokens", "cost_usd")]
    shown = _amount(value, "shown")
    calls = len(order) if key.mode == "pointwise" else 1
    return Cost(calls, len(order) if shown is None else shown, *spent)


def _amount(value: Mapping[str, Any] | None, name: str) -> float | None:
    if value is None or value.get(name) is None:
        return None
    amount = _finite(value[name], f"{name!r}")
    if amount < 0:
        raise InputError(f"{name!r} is {amount:g}: it must not be negative")
    return amount


def _key(value: Mapping[str, Any], read: Mapping[str, Any]) -> Key:
    mode = value.get("mode")
    if mode is None:
        mode = "pairwise" if "winner" in read else "listwise" if "ranking" in read else "pointwise"
    if mode not in get_args(Mode):
        raise InputError(f"'mode' is {mode!r}; known: {', '.join(get_args(Mode))}")
    if mode in ("pairwise", "pairwise_scores") and len(value["order"]) != 2:
        raise InputError(f"'mode' is {mode} but 'order' names {len(value['order'])} ids instead of 2")
    temperature = value.get("temperature")
    return Key(
        _text(value.get("judge"), "'judge'"),
        cast("Mode", mode),
        _optional(value, "prompt_variant"),
        None if temperature is None else _finite(temperature, "'temperature'"),
        _optional(value, "criterion"),
    )


def _parsed_answer(parsed: Mapping[str, Any], order: tuple[str, ...]) -> dict[str, Any]:
    """Return the parsed answer, by the name of a Record's field; empty if there is none."""
    scores, winner, ranking = parsed.get("scores"), parsed.get("winner"), parsed.get("ranking")
    if scores is not None:
        if not isinstance(scores, Mapping):
            raise InputError("'parsed.scores' must be an object of numbers by id")
        return {
            "scores": {
                _text(name, "an id in 'scores'"): _finite(one, "a score")
                for name, one in scores.items()
                if one is not None
            }
        }
    if ranking is not None:
        if not isinstance(ranking, list | tuple):
            raise InputError("'parsed.ranking' must list ids, best first")
        items = tuple(_text(one, "an id in 'ranking'") for one in ranking)
        if len(set(items)) < len(items):
            raise InputError("'parsed.ranking' names an id twice")
        return {"ranking": items}
    if winner is None:
        return {}
    name = _text(winner, "'parsed.winner'")
    if name == TIE and TIE in order:
        raise InputError('an id in \'order\' is "tie", so the winner "tie" would be ambiguous')
    if len(order) != 2 or name not in (*order, TIE):
        raise InputError(f"'parsed.winner' is {name!r}, which is neither of two ids in 'order' nor \"tie\"")
    margin = parsed.get("margin")
    size = 1.0 if margin is None else _finite(margin, "'parsed.margin'")
    if not 0 <= size <= 1:
        raise InputError(f"'parsed.margin' is {size:g}; it must be a number from 0 to 1")
    return {"winner": name if size else TIE, "margin": size if name != TIE else 0.0}


def _scale(value: Mapping[str, Any]) -> tuple[float, float] | None:
    scale = value.get("scale")
    if scale is None:
        return None
    if not isinstance(scale, list | tuple) or len(scale) != 2:
        raise InputError("'scale' must be [lowest, highest]")
    low, high = (_finite(one, "'scale'") for one in scale)
    if low >= high:
        raise InputError(f"'scale' is [{low:g}, {high:g}]; its first number must be the lower one")
    return low, high


def _text(value: object, what: str) -> str:
    if isinstance(value, int) and not isinstance(value, bool):
        return str(value)
    if not isinstance(value, str) or not value:
        raise InputError(f"{what} must be non-empty text or an integer")
    return value


def _optional(value: Mapping[str, Any], name: str) -> str | None:
    return None if value.get(name) is None else _text(value[name], f"{name!r}")


def _finite(value: object, what: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise InputError(f"{what} must be a number")
    try:
        number = float(value)
    except OverflowError:
        number = math.inf
    if not abs(number) <= LARGEST:
        raise InputError(f"{what} must be finite, and at most {LARGEST:g} in size")
    return number
