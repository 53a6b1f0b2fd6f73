"""Reads what profiles are fitted from: groups files, judgments files, and ledgers.

A file's kind is recognised by its content. Groups and judgments are read as ``calipers calibrate`` reads them. Not
responsible for ledgers (``ledgers``), or for fitting (``fitting``).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Final, Literal

from calipers.calibration.records import Key, Record, as_record
from calipers.calibration.series import Frame, values_by_member
from calipers.errors import ConfigError, InputError
from calipers.inputs import jsonl, read_groups
from calipers.inputs.jsonl import decompressed_stream, open_binary, parse_json_line
from calipers.study.profiles.duplicates import RecordedOnce
from calipers.study.profiles.ledgers import replayed_answers
from calipers.study.profiles.profile import SourceFile
from calipers.types import TrajectoryGroup

_SQLITE: Final = b"SQLite format 3\x00"
_LONGEST: Final = 2**26
_LISTED: Final = 12
_FLAGS: Final = {
    "judge": "--answers-of",
    "mode": "--mode",
    "prompt_variant": "--prompt-variant",
    "temperature": "--temperature",
    "criterion": "--criterion",
}
OnError = Callable[[InputError], None]
Rewrite = tuple[str, frozenset[str]]
"""The name of a rewrite in a comparison of judges, and the ids of the trajectories that were rewritten."""


@dataclass(slots=True)
class Sources:
    """What the files of a profile hold: ``groups``, ``records`` of answers, and each file's name and digest."""

    groups: list[TrajectoryGroup] = field(default_factory=list)
    records: list[Record] = field(default_factory=list)
    files: list[SourceFile] = field(default_factory=list)

    def frame(self) -> Frame:
        """Return the groups as a table for a profile. Of groups with the same id, the first counts."""
        first: dict[str, TrajectoryGroup] = {}
        for group in self.groups:
            first.setdefault(group.group_id, group)
        return Frame.of(first.values())


def read_sources(
    paths: Iterable[str | os.PathLike[str]],
    *,
    format: str | None = None,  # noqa: A002 - what people call it
    run: int | None = None,
    on_error: OnError | None = None,
) -> Sources:
    """Return what the files at ``paths`` hold, for fitting a profile.

    ``format`` is the reply format of judgments that are not parsed and name none. Bad lines are passed to ``on_error``
    and skipped; without it, they are raised. ``run`` is the run to read of a ledger, by default all. Raises InputError
    for a file of another kind, for an answer that is recorded twice, and if there are no groups or no answers.
    """
    found, once, paths = Sources(), RecordedOnce(), list(paths)
    require_different(paths)
    for path in paths:
        match source_kind(Path(path)):
            case "ledger":
                groups, records = asyncio.run(replayed_answers(path, run))
                for record in records:
                    once.require(record, path, None)
                found.groups += groups
                found.records += records
            case "groups":
                found.groups += read_groups(os.fspath(path), on_error=on_error)
            case "judgments":
                found.records += _answers_about_groups(path, once, format, on_error)
        found.files.append(SourceFile(Path(path).name, _digest(Path(path))))
    if not found.groups:
        raise InputError("no groups were named; add the groups file that the judgments are about")
    if not found.records:
        raise InputError("no answers were named; add a judgments file (docs/calibration.md) or a ledger")
    return found


def source_kind(path: Path) -> Literal["ledger", "groups", "judgments"]:
    """Return what a profile's source holds, by its first line. Raises InputError for a file of another kind."""
    with open_binary(path) as stream:
        plain = decompressed_stream(stream)
        first = plain.readline(_LONGEST)
    if first.startswith(_SQLITE):
        return "ledger"
    if first.startswith(b"PAR1"):
        return "groups"
    row = parse_json_line(first.removeprefix(b"\xef\xbb\xbf")) if first.strip() else "the file is empty"
    if isinstance(row, dict) and "trajectories" in row:
        return "groups"
    if isinstance(row, dict) and {"group_id", "order"} <= row.keys():
        return "judgments"
    problem = f" ({row})" if isinstance(row, str) else ""
    raise InputError(
        "is neither a groups file ('trajectories'), nor a judgments file ('group_id' and 'order'), nor a ledger"
        f"{problem}; see docs/profiles.md",
        source=str(path),
        line=1,
    )


def _digest(path: Path) -> str:
    digest = hashlib.sha256()
    with open_binary(path) as stream:
        while block := stream.read(2**20):
            digest.update(block)
    return digest.hexdigest()


def require_different(paths: Iterable[str | os.PathLike[str]]) -> None:
    """Raise InputError if two of the sources of a profile are one file."""
    seen: dict[Path, str] = {}
    for path in paths:
        name = os.fspath(path)
        before = seen.setdefault(Path(path).resolve(), name)
        if before is not name:
            raise InputError(f"the file is named twice (also as {before}); name it once", source=name)


def read_judgments_once(
    path: str | os.PathLike[str],
    once: RecordedOnce,
    *,
    format: str | None = None,  # noqa: A002 - likewise
    on_error: OnError | None = None,
) -> Iterator[tuple[Rewrite | None, Record]]:
    """Yield the judgments of a file for a profile, each with the rewrite of the group that it is about, if any.

    Bad lines are passed to ``on_error`` and skipped, as in ``read_sources``. Raises InputError for a line that answers
    a question again that a line in ``once`` has answered.
    """

    def convert(row: Mapping[str, Any] | str, line: int) -> tuple[int, Rewrite | None, Record]:
        return line, None if isinstance(row, str) else _rewrite_of(row), as_record(row, format=format)

    lines = jsonl.convert_rows(jsonl.read_json_lines(path), convert, source=os.fspath(path), on_error=on_error)
    for line, rewrite, record in lines:
        once.require(record, path, line, about=rewrite)
        yield rewrite, record


def _rewrite_of(row: Mapping[str, Any]) -> Rewrite | None:
    """Return the name of the rewrite that a line of ``calipers study compare`` is about, and the rewritten ids."""
    name, ids = row.get("rewrite"), row.get("rewritten")
    if name is None:
        return None
    if not isinstance(name, str) or not isinstance(ids, list) or not all(isinstance(one, str) for one in ids):
        raise InputError("'rewrite' must be a name, and 'rewritten' the list of ids that were rewritten")
    return name, frozenset(ids)


def _answers_about_groups(
    path: str | os.PathLike[str],
    once: RecordedOnce,
    format: str | None,  # noqa: A002 - likewise
    on_error: OnError | None,
) -> Iterator[Record]:
    for rewrite, record in read_judgments_once(path, once, format=format, on_error=on_error):
        if rewrite is not None:
            raise InputError(
                "has answers about rewritten groups; a profile is fitted to those about the groups as they are "
                "(judgments.jsonl)",
                source=os.fspath(path),
            )
        yield record


def choose_key(
    records: Iterable[Record],
    *,
    judge: str | None = None,
    mode: str | None = None,
    prompt_variant: str | None = None,
    temperature: float | None = None,
    criterion: str | None = None,
) -> Key:
    """Return the one judge and kind of question among ``records`` that fits; None fits anything.

    Raises ConfigError if none fits or several do, with the choices.
    """
    every = sorted({one.key for one in records}, key=described_key)
    wanted: dict[str, str | float | None] = {"judge": judge, "mode": mode, "prompt_variant": prompt_variant}
    wanted |= {"temperature": temperature, "criterion": criterion}
    given = {name: value for name, value in wanted.items() if value is not None}
    found = [key for key in every if all(getattr(key, name) == value for name, value in given.items())]
    if len(found) == 1:
        return found[0]
    shown = found or [key for key in every if key.judge == judge] or every
    listed = "".join(f"\n  {described_key(one)}" for one in shown[:_LISTED])
    more = f"\n  and {len(shown) - _LISTED} more" if len(shown) > _LISTED else ""
    fitting = " ".join(f"{_FLAGS[name]} {value}" for name, value in given.items())
    problem = "several judges and kinds of questions are recorded" if found else f"no answer fits {fitting}"
    *firsts, last = _FLAGS.values()
    raise ConfigError(f"{problem}; choose one with {', '.join(firsts)} or {last}:{listed}{more}")


def described_key(key: Key) -> str:
    """Return a judge and a kind of question in words, for choosing what a profile is fitted to."""
    parts = (
        ("", key.mode),
        ("prompt variant ", key.prompt_variant),
        ("temperature ", None if key.temperature is None else f"{key.temperature:g}"),
        ("criterion ", key.criterion),
    )
    return ", ".join([key.judge, *(f"{name}{value}" for name, value in parts if value is not None)])


def merged_criteria(records: Iterable[Record]) -> list[Record]:
    """Return ``records`` with the criteria of an answer averaged into one score, to fit a profile of the whole.

    A member keeps a score if it has one for every criterion of that judge and kind of question.
    """
    wholes: dict[tuple[Key, str, tuple[str, ...], int], list[Record]] = {}
    for one in records:
        key = replace(one.key, criterion=None)
        wholes.setdefault((key, one.group_id, one.order, one.sample), []).append(one)
    most: Counter[Key] = Counter()
    for (key, *_), parts in wholes.items():
        most[key] = max(most[key], len(parts))
    merged = []
    for (key, *_), parts in wholes.items():
        scored = [values_by_member(one, rescale=True) for one in parts]
        whole = {
            name: math.fsum(one[name] for one in scored) / len(scored)
            for name in parts[0].order
            if len(scored) == most[key] and all(name in one for one in scored)
        }
        merged.append(replace(parts[0], key=key, scores=whole or None, scale=(0.0, 1.0)))
    return merged
