"""Reads what profiles are fitted from: groups files, judgments files, and ledgers.

A file's kind is recognised by its content. Groups and judgments are read as ``calipers calibrate`` reads them, and a
ledger's latest run is read again as ``calipers replay`` does. Not responsible for fitting (``fitting``).
"""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
from collections import Counter
from collections.abc import Callable, Iterable
from contextlib import closing
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Final, Literal

from calipers.backends.names import name_without_password
from calipers.calibration.collect import JudgeAnswers
from calipers.calibration.records import Key, Record, as_records, read_judgments
from calipers.calibration.series import Frame, values_by_member
from calipers.config.settings import Settings
from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, read_groups
from calipers.inputs.jsonl import decompressed_stream, open_binary, parse_json_line
from calipers.judging.judge import Judge
from calipers.ledger import Ledger, Replayer
from calipers.study.profiles.profile import SourceFile
from calipers.types import Completion, JudgeRequest, Reading, TrajectoryGroup

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
    on_error: OnError | None = None,
) -> Sources:
    """Return what the files at ``paths`` hold, for fitting a profile.

    ``format`` is the reply format of judgments that are not parsed and name none. Bad lines are passed to ``on_error``
    and skipped; without it, they are raised. Raises InputError for a file of another kind, and if there are no groups
    or no answers.
    """
    found = Sources()
    for path in paths:
        match source_kind(Path(path)):
            case "ledger":
                groups, records = asyncio.run(replayed_answers(path))
                found.groups += groups
                found.records += records
            case "groups":
                found.groups += read_groups(os.fspath(path), on_error=on_error)
            case "judgments":
                found.records += read_judgments(path, format=format, on_error=on_error)
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


async def replayed_answers(location: str | os.PathLike[str]) -> tuple[list[TrajectoryGroup], list[Record]]:
    """Return the groups and the answers of a ledger's latest run, for fitting profiles of its judges.

    Raises LedgerError for a ledger that cannot be read, and ConfigError for a run that asked about criteria.
    """
    with closing(Ledger(Path(location), create=False)) as ledger:
        store = Replayer(ledger)
        settings = Settings.of(store.recorded.settings)
        if settings.protocol == "checklist":
            raise ConfigError(
                f"{os.fspath(location)}: its run has verdicts on criteria; a profile is fitted to scores or comparisons"
            )
        temperature = (settings.calls.params or {}).get("temperature")
        known = temperature if isinstance(temperature, int | float) else None
        names = [name_without_password(one.judge) for one in settings.judges]
        answers = [JudgeAnswers(name, settings.protocol, temperature=known) for name in names]

        def observe(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
            answers[request.ask.slot].observe(request, completion, reading)

        judge = Judge.replaying(replace(settings, records=replace(settings.records, observer=observe)), store)
        groups = [as_group(one) for one in store.groups()]
        async for result in judge.score_groups(groups, ordered=True):
            for one in answers:
                one.record_unanswered(result)
    return groups, [record for one in answers for record in as_records(one.judgments)]


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
