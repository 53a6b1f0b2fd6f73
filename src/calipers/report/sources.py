"""Reads what a report shows: result files and ledgers, and the texts that belong to them.

A file's kind is recognised by its content. Not responsible for what the page makes of a group (``details``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Self

from calipers.errors import ConfigError, InputError
from calipers.inputs import as_group, read_groups
from calipers.inputs.jsonl import read_json_lines
from calipers.ledger import LedgerReader
from calipers.ledger.answers import RecordedRun, find_run
from calipers.ledger.contents import (
    RecordedQuestion,
    RunExtent,
    extent_of_run,
    latest_group,
    positions_of_groups,
    recorded_group,
    recorded_questions,
    recorded_results,
    results_since,
)
from calipers.ledger.opening import is_postgres
from calipers.ledger.postgres.address import Address
from calipers.report.candidates import shown_candidates
from calipers.report.found import SourceKind, kinds_of
from calipers.report.groups import GroupsById
from calipers.types import RenderedGroup, TrajectoryGroup


@dataclass(frozen=True, slots=True)
class Judged:
    """A judged group for a report: its ``result`` (a line of a result file), and what else is known of it.

    ``source`` is the position of the file among the report's sources. ``group`` holds the texts, or is None.
    ``recorded`` is the group as the judge's run had it, with ``questions`` about it, if a ledger has them. ``judges``
    are the names of that run's judges by slot, and ``models`` those of the models that they ask for; ``reasoning`` says
    whether they saw the candidates' reasoning. ``run`` is the position of that run among the report's, and ``began``
    when it began.
    """

    source: int
    result: Mapping[str, Any]
    group: TrajectoryGroup | None = None
    recorded: TrajectoryGroup | None = None
    questions: tuple[RecordedQuestion, ...] = ()
    judges: tuple[str, ...] = ()
    reasoning: str = "hidden"
    run: int | None = None
    began: str | None = None
    models: tuple[str, ...] = ()
    _shown: list[RenderedGroup | None] = field(default_factory=list, compare=False, repr=False)

    def shown(self) -> RenderedGroup | None:
        """Return the recorded group as its judge saw it, rendered once; None if nothing of it was shown or recorded."""
        if not self._shown:
            known = self.recorded
            self._shown.append(None if known is None else shown_candidates(known, self.result, self.reasoning))
        return self._shown[0]


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


class _RecordedRun:
    """A run of a ledger, whose groups are found by id."""

    def __init__(self, location: str, name: str, number: int, run: int | None, stack: ExitStack) -> None:
        self.number = number
        self.ledger = LedgerReader(location)
        stack.callback(self.ledger.close)
        self.recorded: RecordedRun = find_run(self.ledger, run)
        settings = self.recorded.settings
        self.judges = judge_names(settings["judges"])
        self.models = tuple(str(one.get("model")) for one in settings["judges"])
        self.reasoning = str(settings.get("question", {}).get("reasoning", "hidden"))
        self.extent: RunExtent = extent_of_run(self.ledger, self.recorded.id)
        self._name = name
        self._positions: dict[str, int] | None = None
        self.completed = 0
        """How many groups of result files this run has added to."""

    def about(self) -> dict[str, Any]:
        settings = self.recorded.settings
        known = {name: settings[name] for name in ("protocol", "orders", "samples", "seed") if name in settings}
        told = {
            "run": self.recorded.id,
            "of": self.extent.of,
            "version": self.recorded.version,
            "judges": list(self.judges),
            **known,
        }
        return {"source": self._name, **told}

    def position(self, group_id: str) -> int | None:
        if self._positions is None:
            self._positions = positions_of_groups(self.ledger, self.recorded.id)
        return self._positions.get(group_id)

    def judged(self, source: int, result: Mapping[str, Any], position: int, group: TrajectoryGroup | None) -> Judged:
        recorded = as_group(recorded_group(self.ledger, self.recorded.id, position))
        questions = tuple(recorded_questions(self.ledger, self.recorded.id, position))
        known = (self.judges, self.reasoning, self.number, self.extent.began)
        return Judged(source, result, group or recorded, recorded, questions, *known, self.models)


class Sources:
    """The judged groups of a report's sources, read one after the other by iterating. Use it as a context manager.

    ``paths`` are result files, ledgers, watched runs, studies, calibrations and profiles, or folders of these;
    iterating yields only judged groups. ``groups`` is the groups file with the texts. If there is a result file,
    ledgers only add texts, questions and answers to its groups. ``run`` is the number of the run in a ledger, by
    default the latest. ``notes`` is complete after the iteration. Raises InputError, LedgerError or ConfigError for
    files that cannot be read; lines of a result file that cannot be read go to ``on_error``, and are skipped.
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
        kinds = kinds_of(paths)
        self.results = [path for path, kind in kinds if kind == "results"]
        self.ledgers = [path for path, kind in kinds if kind == "ledger"]
        self.watched = [path for path, kind in kinds if kind == "watched"]
        self.studies = [path for path, kind in kinds if kind == "study"]
        self.judge_files = [path for path, kind in kinds if kind == "judge"]
        if run is not None and not self.ledgers:
            raise ConfigError("--run names a run of a ledger, and no source is a ledger")
        if groups is not None and not (self.results or self.ledgers):
            raise ConfigError("--groups names the texts of judged groups, and no source has judged groups")
        self.first: SourceKind | None = kinds[0][1] if kinds else None
        """The kind of the source that is named first, whose view a page opens."""
        self.called = source_names([path for path, _ in kinds])
        self.names = [self.called[path] for path in self.results or self.ledgers]
        named = self.results or paths  # a ledger beside the results is not worth a title
        self.title = ", ".join(self.called.get(path) or source_name(path) for path in named)
        try:
            self._runs = [
                _RecordedRun(path, self.called[path], at, run, self._stack) for at, path in enumerate(self.ledgers)
            ]
            self._groups = None if groups is None else self._stack.enter_context(self._open_groups(groups))
        except BaseException:
            self._stack.close()
            raise
        self.notes.runs = [one.about() for one in self._runs]

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._stack.close()

    def __iter__(self) -> Iterator[Judged]:
        for judged in self._from_results() if self.results else self._from_ledgers():
            self.notes.without_texts += judged.group is None
            self.notes.without_questions += judged.recorded is None
            yield judged
        if self.results:
            self.notes.runs = [one.about() | {"completed": one.completed} for one in self._runs]
        if self._groups is not None:
            self.notes.unjudged = self._groups.count_left()

    def hold(self) -> list[tuple[int, int]]:
        """Read the ledgers from now on as they are now; return each one's run, and its latest group's number."""
        for run in self._runs:
            run.ledger.hold()
        return [(run.recorded.id, latest_group(run.ledger)) for run in self._runs]

    def since(self, after: int, *, most: int) -> Iterator[tuple[int, Judged]]:
        """Yield at most ``most`` groups that the only ledger's run recorded after number ``after``, with their numbers.

        Their texts are those of the ledger.
        """
        (run,) = self._runs
        for number, position, result in results_since(run.ledger, run.recorded.id, after, most=most):
            yield number, run.judged(0, result, position, None)

    @property
    def runs(self) -> list[tuple[str, RecordedRun, RunExtent]]:
        """The runs of the report's ledgers: the name of the file, the run, and how much of it is recorded."""
        return [
            (self.called[path], one.recorded, one.extent) for path, one in zip(self.ledgers, self._runs, strict=True)
        ]

    def _open_groups(self, path: str) -> GroupsById:
        return GroupsById(read_groups(path, on_error=self._bad_line))

    def _bad_line(self, error: InputError) -> None:
        self.notes.bad_lines += 1
        self._on_error(error)

    def _from_results(self) -> Iterator[Judged]:
        for source, path in enumerate(self.results):
            for line, value in read_json_lines(path):
                problem = value if isinstance(value, str) else _problem(value)
                if problem is not None or isinstance(value, str):
                    self._bad_line(InputError(problem or "", source=path, line=line))
                    continue
                yield self._completed(source, value)

    def _completed(self, source: int, result: Mapping[str, Any]) -> Judged:
        group_id = str(result["group_id"])
        group = None if self._groups is None else self._groups.take(group_id)
        for run in reversed(self._runs):
            if (position := run.position(group_id)) is not None:
                run.completed += 1
                return run.judged(source, result, position, group)
        return Judged(source, result, group)

    def _from_ledgers(self) -> Iterator[Judged]:
        for source, run in enumerate(self._runs):
            for position, result in recorded_results(run.ledger, run.recorded.id):
                group = None if self._groups is None else self._groups.take(str(result.get("group_id")))
                yield run.judged(source, result, position, group)


def open_sources(
    paths: Sequence[str],
    *,
    groups: str | None = None,
    run: int | None = None,
    on_error: Callable[[InputError], None],
) -> Sources:
    """Open the files that a report shows. See ``Sources``."""
    return Sources(paths, groups=groups, run=run, on_error=on_error)


def source_name(path: str) -> str:
    """Return how a report names a source: the name of a file or folder, or a database's address without a password."""
    return Address.of(path).name if is_postgres(path) else Path(path).resolve().name


def source_names(paths: Sequence[str]) -> dict[str, str]:
    """Return how a report names each of its sources: as ``source_name``, with folders above it where two are equal."""
    found = {path: source_name(path) for path in paths}
    parts = {path: Path(path).resolve().parts for path in paths if not is_postgres(path)}
    for depth in range(2, max(map(len, parts.values()), default=0) + 1):
        counts = Counter(found.values())
        if max(counts.values()) == 1:
            break
        found |= {path: "/".join(all_[-depth:]) for path, all_ in parts.items() if counts[found[path]] > 1}
    return found


def ledger_beside(path: str) -> str | None:
    """Return the ledger that ``calipers score`` wrote beside the result file ``path`` of a report, if it is there."""
    beside = Path(f"{path}.ledger.db")
    return str(beside) if beside.is_file() else None


def judge_names(judges: Sequence[Mapping[str, Any]]) -> tuple[str, ...]:
    """Return the names of a recorded run's judges by slot; equal names are told apart by the model."""
    counts = Counter(str(one["judge"]) for one in judges)
    return tuple(
        f"{one['judge']} ({one['model']})" if counts[str(one["judge"])] > 1 else str(one["judge"]) for one in judges
    )


def _problem(value: Mapping[str, Any]) -> str | None:
    """Return why a line of a result file cannot be shown, or None if it can."""
    members = value.get("trajectories")
    if not isinstance(value.get("group_id"), str) or not isinstance(value.get("status"), str):
        return "has no group_id and status, so it is not a result"
    if not isinstance(members, list) or not all(isinstance(one, dict) and "id" in one for one in members):
        return "has no list of trajectories with ids, so it is not a result"
    return None
