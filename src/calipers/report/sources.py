"""Reads what a report shows: result files and ledgers of judged groups, and calibrations of judges.

A file's kind is recognised by its content.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final, Literal, Self, TypeAlias, cast, get_args

from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, read_groups
from calipers.inputs.records import open_binary, parse_json_line, read_json_lines
from calipers.ledger import read_ledger
from calipers.ledger.answers import RecordedRun, find_run
from calipers.ledger.contents import (
    RecordedQuestion,
    positions_of_groups,
    recorded_group,
    recorded_groups,
    recorded_questions,
)
from calipers.ledger.database import ReadableLedger
from calipers.ledger.opening import Address, is_postgres
from calipers.render import Reasoning, render
from calipers.report.results import checked_result, problem_of
from calipers.types import RenderedGroup, TrajectoryGroup

SourceKind: TypeAlias = Literal["results", "ledger", "calibration"]

_SQLITE: Final = b"SQLite format 3\x00"
_CALIBRATION: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"(?:answer|judges|among)"\s*:')
_BEGINNING: Final = 4096
_FIRST_LINE: Final = 2**26
_SHOWN: Final = "give a result file of calipers score, or a ledger"


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged group for a report: its ``result`` (a line of a result file, checked), and what else is known of it.

    ``source`` is the position of the file among the report's sources. ``group`` holds the texts, or is None.
    ``recorded`` is the group as the judge's run had it, with ``questions`` about it, if a ledger has them. ``judges``
    are the names of that run's judges by slot, and ``models`` those of the models that they ask for; ``reasoning`` says
    whether they saw the candidates' reasoning. ``began`` is when that run began.
    """

    source: int
    result: Mapping[str, Any]
    group: TrajectoryGroup | None = None
    recorded: TrajectoryGroup | None = None
    questions: tuple[RecordedQuestion, ...] = ()
    judges: tuple[str, ...] = ()
    models: tuple[str, ...] = ()
    reasoning: str = "hidden"
    began: str = ""
    _shown: list[RenderedGroup | None] = field(default_factory=list, compare=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "result", checked_result(self.result))

    def shown(self) -> RenderedGroup | None:
        """Return the recorded group as its judge saw it, rendered once; None if nothing of it was shown or recorded."""
        if not self._shown:
            self._shown.append(None if self.recorded is None else self._rendered(self.recorded))
        return self._shown[0]

    def _rendered(self, group: TrajectoryGroup) -> RenderedGroup | None:
        """Trajectories without messages, and those that were hidden from the judge, are not in it."""
        hidden = {str(trajectory["id"]) for trajectory in self.result["trajectories"] if _was_hidden(trajectory)}
        shown = tuple(
            trajectory for trajectory in group.trajectories if trajectory.messages and trajectory.id not in hidden
        )
        if not shown:
            return None
        known = cast("Reasoning", self.reasoning) if self.reasoning in get_args(Reasoning) else "hidden"
        return render(replace(group, trajectories=shown), reasoning=known)


@dataclass(slots=True)
class Notes:
    """What a report's sources lack: ``without_texts`` and ``without_questions`` count groups, ``bad_lines`` lines.

    ``unjudged`` counts the groups of the groups file that have no result.
    """

    without_texts: int = 0
    without_questions: int = 0
    bad_lines: int = 0
    unjudged: int = 0
    runs: list[dict[str, Any]] = field(default_factory=list)


class RunReader:
    """A run of a ledger: the one with this number, by default the latest. Raises LedgerError if there is none."""

    def __init__(self, ledger: ReadableLedger, run: int | None = None) -> None:
        self.ledger = ledger
        self.recorded: RecordedRun = find_run(ledger, run)
        settings = self.recorded.settings
        self.judges = _judge_names(settings["judges"])
        self.models = tuple(str(judge.get("model")) for judge in settings["judges"])
        self.reasoning = str(settings.get("question", {}).get("reasoning", "hidden"))
        self.began = str(ledger.rows("SELECT started_at FROM runs WHERE id = ?", (self.recorded.id,))[0][0])

    @cached_property
    def positions(self) -> dict[str, int]:
        """The number of each group in the run, by id."""
        return positions_of_groups(self.ledger, self.recorded.id)

    @cached_property
    def earlier(self) -> RunReader | None:
        """The run before this one in the ledger."""
        number = self.ledger.rows("SELECT max(id) FROM runs WHERE id < ?", (self.recorded.id,))[0][0]
        return None if number is None else RunReader(self.ledger, number)

    def judged(
        self, source: int, result: Mapping[str, Any], position: int, group: TrajectoryGroup | None = None
    ) -> Judged:
        """Return a result of the run with the group and the questions that the ledger has."""
        recorded = as_group(recorded_group(self.ledger, self.recorded.id, position))
        questions = tuple(recorded_questions(self.ledger, self.recorded.id, position))
        known = (self.judges, self.models, self.reasoning, self.began)
        return Judged(source, result, group or recorded, recorded, questions, *known)


class Sources:
    """The judged groups of a report's sources, read one after the other by iterating. Use it as a context manager.

    ``paths`` are result files, ledgers and calibrations; iterating yields only judged groups. ``groups`` is the groups
    file with the texts. If there is a result file, ledgers only add texts, questions and answers to its groups. ``run``
    is the number of the run in a ledger, by default the latest. ``notes`` is complete after the iteration. Raises
    InputError, LedgerError or ConfigError for files that cannot be read; lines of a result file that cannot be read go
    to ``on_error``, and are skipped.
    """

    def __init__(
        self,
        paths: Sequence[str],
        *,
        groups: str | None = None,
        run: int | None = None,
        on_error: Callable[[InputError], None],
    ) -> None:
        self.notes = Notes()
        self._stack = ExitStack()
        self._on_error = on_error
        kinds = {path: kind_of(path) for path in paths}
        self.results, self.ledgers, self.calibrations = (
            [path for path, kind in kinds.items() if kind == wanted] for wanted in get_args(SourceKind)
        )
        if run is not None and not self.ledgers:
            raise ConfigError("--run names a run of a ledger, and no source is a ledger")
        if groups is not None and not (self.results or self.ledgers):
            raise ConfigError("--groups names the texts of judged groups, and no source has judged groups")
        self.opens = "judge" if kinds[paths[0]] == "calibration" else "groups"
        """The view that a page opens: that of the source that is named first."""
        self.called = _source_names(list(kinds))
        self.names = [self.called[path] for path in self.results or self.ledgers]
        self.title = ", ".join(self.called[path] for path in self.results or kinds)
        try:
            self._is_named = run is not None
            self._runs = [RunReader(self._opened(path), run) for path in self.ledgers]
            self._groups = None if groups is None else _GroupsById(read_groups(groups, on_error=self._bad_line))
        except BaseException:
            self._stack.close()
            raise
        self._completed = [0] * len(self._runs)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[Judged]:
        for judged in self._from_results() if self.results else self._from_ledgers():
            self.notes.without_texts += judged.group is None
            self.notes.without_questions += judged.recorded is None
            yield judged
        if self._groups is not None:
            self.notes.unjudged = self._groups.count_left()
        self.notes.runs = [
            {
                "source": self.called[path],
                "run": run.recorded.id,
                "of": run.ledger.rows("SELECT count(*) FROM runs")[0][0],
                "judges": list(run.judges),
                "is_used": bool(count or not self.results),
            }
            for path, run, count in zip(self.ledgers, self._runs, self._completed, strict=True)
        ]

    def _opened(self, path: str) -> ReadableLedger:
        ledger = read_ledger(path)
        self._stack.callback(ledger.close)
        return ledger

    def _bad_line(self, error: InputError) -> None:
        self.notes.bad_lines += 1
        self._on_error(error)

    def _texts_of(self, group_id: str) -> TrajectoryGroup | None:
        return None if self._groups is None else self._groups.take(group_id)

    def _from_results(self) -> Iterator[Judged]:
        for source, path in enumerate(self.results):
            for line, value in read_json_lines(path):
                problem = value if isinstance(value, str) else problem_of(value)
                if problem is not None or isinstance(value, str):
                    self._bad_line(InputError(problem or "", source=path, line=line))
                    continue
                yield self._with_questions(source, value)

    def _with_questions(self, source: int, result: Mapping[str, Any]) -> Judged:
        group_id = str(result["group_id"])
        group = self._texts_of(group_id)
        for number, latest in reversed(list(enumerate(self._runs))):
            run: RunReader | None = latest
            while run is not None and group_id not in run.positions:
                run = None if self._is_named else run.earlier
            if run is not None:
                self._completed[number] += 1
                return run.judged(source, result, run.positions[group_id], group)
        return Judged(source, result, group)

    def _from_ledgers(self) -> Iterator[Judged]:
        for source, run in enumerate(self._runs):
            for position, result in recorded_groups(run.ledger, run.recorded.id, "result"):
                yield run.judged(source, result, position, self._texts_of(str(result.get("group_id"))))


class _GroupsById:
    """The groups of a groups file by id; each can be taken once.

    ``calipers score`` writes results in the order of the groups, so the next group usually is the one that is wanted;
    those that are passed by on the way to another one wait in memory.
    """

    def __init__(self, groups: Iterator[TrajectoryGroup]) -> None:
        self._coming = groups
        self._waiting: dict[str, TrajectoryGroup] = {}

    def take(self, group_id: str) -> TrajectoryGroup | None:
        """Return the group with this id, or None if the groups file has none or it was taken before."""
        if group_id in self._waiting:
            return self._waiting.pop(group_id)
        for group in self._coming:
            if group.group_id == group_id:
                return group
            self._waiting[group.group_id] = group
        return None

    def count_left(self) -> int:
        """Read the groups file to its end and return how many of its groups were not taken."""
        return len(self._waiting) + sum(1 for _ in self._coming)


def is_ledger(path: str) -> bool:
    """Return whether a report's source is a ledger: by its address, or by its first bytes.

    Raises InputError if it cannot be opened, or is no regular file.
    """
    if path.startswith("sqlite:///") or is_postgres(path):
        return True
    return _beginning_of(path).startswith(_SQLITE)


def kind_of(path: str) -> SourceKind:
    """Return which kind of source a file is. Raises InputError, with the remedy, for one that a report cannot show."""
    if is_ledger(path):
        return "ledger"
    if _CALIBRATION.match(_beginning_of(path)):
        return "calibration"
    _require_results(path)
    return "results"


def ledger_beside(path: str) -> str | None:
    """Return the ledger that ``calipers score`` wrote beside the result file ``path`` of a report, if it is there."""
    beside = Path(f"{path}.ledger.db")
    return str(beside) if beside.is_file() else None


def _beginning_of(path: str) -> bytes:
    if Path(path).is_dir():
        raise InputError(f"is a folder; {_SHOWN}", source=path)
    if Path(path).exists() and not Path(path).is_file():  # reading a pipe would wait for ever
        raise InputError(f"is no regular file; {_SHOWN}", source=path)
    with open_binary(Path(path)) as stream:
        return stream.read(_BEGINNING)


def _require_results(path: str) -> None:
    """Raise InputError, with the remedy, for a file that is certainly not a result file; an empty one may be."""
    with open_binary(Path(path)) as stream:
        line = stream.readline(_FIRST_LINE)
    if line.startswith(b"\x1f\x8b") or not line.strip():
        return
    value = parse_json_line(line)
    if isinstance(value, dict) and "status" not in value and "trajectories" in value:
        raise InputError("is a groups file: score it, and give the result file instead", source=path)
    if isinstance(value, dict) and "trajectories" not in value:
        keys = ", ".join([*value][:6]) or "no keys"
        raise InputError(f"is not a result file (its keys: {keys[:200]}); {_SHOWN}", source=path, line=1)


def _source_names(paths: Sequence[str]) -> dict[str, str]:
    """Return how a report names each of its sources: by its file name, or by its path where two names are equal.

    Of a database, the address without a password.
    """
    names = {path: Address.of(path).name if is_postgres(path) else Path(path).name for path in paths}
    counts = Counter(names.values())
    return {path: path if counts[name] > 1 and not is_postgres(path) else name for path, name in names.items()}


def _judge_names(judges: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of a recorded run's judges by slot; equal names are told apart by the model."""
    counts = Counter(str(judge["judge"]) for judge in judges)
    return tuple(
        f"{judge['judge']} ({judge['model']})" if counts[str(judge["judge"])] > 1 else str(judge["judge"])
        for judge in judges
    )


def _was_hidden(trajectory: Mapping[str, Any]) -> bool:
    """Whether ``on_attack`` excluded a trajectory: these are the words of its result."""
    reason, explanation = trajectory["reason"] or "", trajectory["explanation"] or ""
    return reason.startswith("quarantined: ") or explanation.startswith("by the rule on_attack='floor'")
