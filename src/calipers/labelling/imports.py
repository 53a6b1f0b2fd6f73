"""Labels from other tools: CSV with a row for each ranked candidate, and records that Argilla exported as JSON.

Each function yields labels of groups that ``index`` has. A row or record that cannot be used is reported with file,
line and remedy, and the whole label that it belongs to is left out. Not responsible for saving (``label_file``).

Argilla's records are those of ``dataset.records.to_json`` (or ``to_list``, flattened or not) of its version 2: a JSON
array, or one record a line.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Final

from calipers.errors import ConfigError, InputError
from calipers.inputs.jsonl import open_binary, parse_json_line
from calipers.labelling.blinding import content_of
from calipers.labelling.index import GroupIndex
from calipers.labelling.labels import LONGEST_NOTE, Label, require_annotator
from calipers.types.encoding import finite_number

_COLUMNS: Final = "group_id, id (the trajectory's), rank (1 is best) or score (higher is better)"
_USABLE: Final = frozenset(("submitted", None))
_NO_GROUP: Final = "the group {name!r} is not in {path}; name the groups file that was labelled, or correct it"


@dataclass(slots=True)
class _Collected:
    """What is known so far of one annotator's label of one group; ``score`` is higher for better."""

    line: int
    score: dict[str, float | None] = field(default_factory=dict)
    time: str = ""
    note: str = ""
    broken: bool = False


class _Labels:
    """Collects scores by group and annotator, and makes labels of them."""

    def __init__(self, index: GroupIndex, source: str, on_error: Callable[[InputError], None]) -> None:
        self._index = index
        self._source = source
        self._on_error = on_error
        self._found: dict[tuple[str, str], _Collected] = {}

    def of(self, group_id: str, annotator: str, line: int) -> _Collected:
        return self._found.setdefault((group_id, annotator), _Collected(line))

    def refuse(self, error: Exception, line: int, entry: _Collected | None = None) -> None:
        if entry is not None:
            entry.broken = True
        self._on_error(InputError(str(error), source=self._source, line=line))

    def __iter__(self) -> Iterator[Label]:
        for (group_id, annotator), entry in self._found.items():
            if entry.broken:
                continue
            try:
                yield self._label(group_id, annotator, entry)
            except InputError as error:
                self.refuse(error, entry.line)

    def _label(self, group_id: str, annotator: str, entry: _Collected) -> Label:
        number = self._index.numbers.get(group_id)
        if number is None:
            raise InputError(_NO_GROUP.format(name=group_id, path=self._index.path))
        group = self._index.group(number)
        ids = [one.id for one in group.trajectories]
        unknown = [name for name in entry.score if name not in ids]
        if unknown:
            raise InputError(
                f"{unknown[0]!r} is no trajectory of the group {group_id!r}, which has {', '.join(map(repr, ids[:8]))}"
                f"{' …' * (len(ids) > 8)}; use the ids of the trajectories"
            )
        levels = sorted({score for score in entry.score.values() if score is not None}, reverse=True)
        places = {score: rank for rank, score in enumerate(levels, 1)}
        scores = ((name, entry.score.get(name)) for name in ids)
        ranks = {name: None if score is None else places[score] for name, score in scores}
        time = entry.time or datetime.now(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")
        return Label(group_id, annotator, time, content_of(group), ranks, (), entry.note)


def labels_from_csv(
    path: str, index: GroupIndex, *, annotator: str | None, on_error: Callable[[InputError], None]
) -> Iterator[Label]:
    """Yield the labels in a CSV (``.tsv``: tab-separated) with a header, one candidate a row.

    Columns: group_id, id, rank or score, and optionally annotator (else ``annotator``), time and note. An empty rank is
    "can't tell". Raises InputError for a file that is no such table.
    """
    labels = _Labels(index, path, on_error)
    with open_binary(Path(path)) as stream:
        lines = (line.decode("utf-8-sig", "replace") for line in stream)
        rows = csv.DictReader(lines, delimiter="\t" if path.endswith(".tsv") else ",")
        head = [str(name).strip().lower() for name in rows.fieldnames or ()]
        rows.fieldnames = head
        if not {"group_id", "id"} <= set(head) or len({"rank", "score"} & set(head)) != 1:
            found = f"has the columns {', '.join(head)}" if head else "is empty"
            raise InputError(f"{found}; its first line must name {_COLUMNS}", source=path, line=1)
        for row in rows:
            if any(row.values()):
                _add_row(labels, row, rows.line_num, annotator)
    yield from labels


def _add_row(labels: _Labels, row: Mapping[str | None, Any], line: int, annotator: str | None) -> None:
    texts = {name: value.strip() for name, value in row.items() if isinstance(name, str) and isinstance(value, str)}
    entry: _Collected | None = None
    try:
        group_id, name = texts.get("group_id", ""), texts.get("id", "")
        entry = labels.of(group_id, _annotator(texts.get("annotator") or annotator), line)
        if not group_id or not name:
            raise InputError("needs a group_id and the id of a trajectory")  # noqa: TRY301 - one place names the line
        if name in entry.score:
            raise InputError(f"ranks {name!r} of {group_id!r} a second time; keep one of the two rows")  # noqa: TRY301
        entry.score[name] = _score_in(texts)
        entry.time = texts.get("time") or entry.time
        entry.note = (texts.get("note") or entry.note)[:LONGEST_NOTE]
    except (InputError, ConfigError) as error:
        labels.refuse(error, line, entry)


def _score_in(texts: Mapping[str, str]) -> float | None:
    """Return a row's score, higher for better; None if it has none."""
    column = "rank" if "rank" in texts else "score"
    text = texts.get(column, "")
    if not text:
        return None
    try:
        value = finite_number(float(text))
    except ValueError:
        value = None
    if value is None or (column == "rank" and value < 1):
        wanted = "a number from 1, the best" if column == "rank" else "a number"
        raise InputError(f'the {column} {text!r} is not {wanted}; leave it empty for "can\'t tell"')
    return -value if column == "rank" else value


def labels_from_argilla(
    path: str,
    index: GroupIndex,
    *,
    question: str | None,
    annotator: str | None,
    on_error: Callable[[InputError], None],
) -> Iterator[Label]:
    """Yield the labels in records that Argilla exported, from the submitted responses to ``question``.

    A response to a ranking question ranks the group: its values are ids of trajectories. A rating is about one
    trajectory, which the record's metadata names (``trajectory_id``). The group is the metadata's ``group_id``, or the
    record's id. ``question`` may be None if there is one only. Raises InputError for a file that is no such export.
    """
    labels = _Labels(index, path, on_error)
    asked = question
    for line, record in _records(path):
        try:
            if isinstance(record, str):
                raise InputError(record)  # noqa: TRY301 - one place names the line
            responses = _responses(record)
            if question is None:
                asked = _only_question(responses, asked)
            for response in responses.get(asked or "", ()):
                _add_response(labels, record, response, line, annotator)
        except (InputError, ConfigError) as error:
            labels.refuse(error, line)
    if question is not None and not labels._found:  # noqa: SLF001 - of this file
        raise InputError(f"has no submitted response to the question {question!r}; check --question", source=path)
    yield from labels


def _records(path: str) -> Iterator[tuple[int, dict[str, Any] | str]]:
    """Yield Argilla's records with their numbers: lines of a file of JSON lines, else positions in the array."""
    with open_binary(Path(path)) as stream:
        data = stream.read().removeprefix(b"\xef\xbb\xbf")
    if not data.strip():
        raise InputError("is empty; export records with dataset.records.to_json", source=path)
    if data.lstrip()[:1] != b"[":
        for number, line in enumerate(data.splitlines(), 1):
            if line.strip():
                yield number, parse_json_line(line)
        return
    try:
        listed = json.loads(data)
    except (ValueError, RecursionError) as error:
        raise InputError(f"is not JSON: {error}; export it again with dataset.records.to_json", source=path) from None
    for number, value in enumerate(listed, 1):
        yield number, value if isinstance(value, dict) else f"record {number} is no object of Argilla's"


def _responses(record: Mapping[str, Any]) -> dict[str, list[Mapping[str, Any]]]:
    """Return the submitted responses of a record by question, each with ``value`` and ``user_id``."""
    nested = record.get("responses")
    found: dict[str, list[Mapping[str, Any]]] = {}
    if isinstance(nested, Mapping):
        for name, given in nested.items():
            found[str(name)] = [one for one in given or () if isinstance(one, Mapping)]
    for key, values in record.items():
        if key.endswith(".responses") and isinstance(values, list):
            name = key.removesuffix(".responses")
            users, states = (record.get(f"{key}.{part}") or [None] * len(values) for part in ("users", "status"))
            rows = zip(values, users, states, strict=False)
            found[name] = [{"value": value, "user_id": user, "status": state} for value, user, state in rows]
    if not isinstance(nested, Mapping) and not found and "responses" not in record:
        raise InputError("has no responses, so it is no record of Argilla 2; export with dataset.records.to_json")
    return {name: [one for one in given if one.get("status") in _USABLE] for name, given in found.items()}


def _only_question(responses: Mapping[str, Iterable[Mapping[str, Any]]], before: str | None) -> str | None:
    """Return the question that has been answered in this record or ``before``; raise ConfigError for a second one."""
    usable = [] if before is None else [before]
    usable += [
        name
        for name, given in responses.items()
        if name != before
        and any(isinstance(one.get("value"), list) or finite_number(one.get("value")) is not None for one in given)
    ]
    if len(usable) > 1:
        raise ConfigError(f"has answers to several questions ({', '.join(usable)}); name one with --question")
    return usable[0] if usable else None


def _add_response(
    labels: _Labels, record: Mapping[str, Any], response: Mapping[str, Any], line: int, annotator: str | None
) -> None:
    metadata = record.get("metadata") if isinstance(record.get("metadata"), Mapping) else record
    known: Mapping[str, Any] = metadata or {}
    group_id = str(known.get("group_id") or record.get("id"))
    entry = labels.of(group_id, _annotator(annotator or response.get("user_id")), line)
    try:
        scores = _scores(response.get("value"), known)
        if again := entry.score.keys() & scores.keys():
            raise InputError(  # noqa: TRY301 - one place names the line
                f"ranks {min(again)!r} of {group_id!r} a second time by one annotator; keep one of the two responses"
            )
    except InputError as error:
        labels.refuse(error, line, entry)
    else:
        entry.score.update(scores)


def _scores(value: object, metadata: Mapping[str, Any]) -> dict[str, float | None]:
    rating = finite_number(value)
    if rating is not None:
        name = metadata.get("trajectory_id")
        if name is None:
            raise InputError("is a rating, but the record's metadata has no trajectory_id; export it with one")
        return {str(name): rating}
    if not isinstance(value, list) or not value:
        raise InputError("the answer is neither a ranking nor a rating; name such a question with --question")
    if all(isinstance(one, str) for one in value):
        return {one: -float(place) for place, one in enumerate(value)}
    found: dict[str, float | None] = {}
    for one in value:
        rank = finite_number(one.get("rank")) if isinstance(one, Mapping) else None
        if rank is None or not isinstance(one.get("value"), str):
            raise InputError('a ranking is a list of ids, or of {"value": id, "rank": number}')
        found[one["value"]] = -rank
    return found


def _annotator(name: object) -> str:
    if name is None or not str(name).strip():
        raise InputError("names no annotator; add the column annotator, or name one with --annotator")
    return require_annotator(str(name))
