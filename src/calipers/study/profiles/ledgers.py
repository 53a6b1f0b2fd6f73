"""Reads the answers in a ledger, from all of its runs, to fit profiles of its judges.

Each run is read again as ``calipers replay`` does. Not responsible for other kinds of files (``sources``).
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from calipers.backends.names import name_without_password
from calipers.calibration.collect import JudgeAnswers
from calipers.calibration.records import Record, as_record
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.inputs import as_group
from calipers.judging.judge import Judge
from calipers.ledger import Replayer, open_ledger
from calipers.types import Completion, GroupResult, JudgeRequest, Reading, TrajectoryGroup


@dataclass(slots=True)
class _Asked:
    """What one judge of a ledger answered to one kind of question, in all runs that asked it so."""

    judge: str
    run: int
    settings: Settings
    answers: JudgeAnswers
    counted: set[tuple[str, str]] = field(default_factory=set)
    results: dict[str, GroupResult] = field(default_factory=dict)
    taken: dict[tuple[str, tuple[str, ...], int], None] = field(default_factory=dict)


async def replayed_answers(
    location: str | os.PathLike[str], run: int | None = None
) -> tuple[list[TrajectoryGroup], list[Record]]:
    """Return the groups and the answers of all runs of a ledger, or of ``run``, for fitting profiles of its judges.

    An answer that several runs used counts once. If a judge was asked in different ways, the prompt variant of its
    answers is the first run that asked so. Runs that asked about criteria are left out. Raises LedgerError for a
    ledger that cannot be read, and ConfigError if no other run is left, or if runs asked about different groups under
    the same id.
    """
    name = os.fspath(location)
    groups: dict[str, tuple[int, TrajectoryGroup]] = {}
    asked: list[_Asked] = []
    with open_ledger(name, create=False) as ledger:
        runs = [int(row[0]) for row in ledger.rows("SELECT id FROM runs ORDER BY id")]
        chosen: list[int | None] = [run] if run is not None or not runs else [*runs]
        for number in chosen:
            store = Replayer(ledger, number)
            settings = Settings.of(store.recorded.settings)
            if settings.protocol != "checklist":
                own = [as_group(one) for one in store.groups()]
                _add_groups(groups, own, store.recorded.id, name)
                await _replay(store, settings, own, asked)
    if not asked:
        raise ConfigError(f"{name}: its run has verdicts on criteria; a profile is fitted to scores or comparisons")
    return [group for _, group in groups.values()], list(_records(asked))


def _add_groups(
    known: dict[str, tuple[int, TrajectoryGroup]], own: Iterable[TrajectoryGroup], run: int, name: str
) -> None:
    for group in own:
        before, first = known.get(group.group_id, (run, group))
        if _content(first) != _content(group):
            raise ConfigError(
                f"{name}: runs {before} and {run} asked about different answers under the group id {group.group_id!r}, "
                "so their judgments cannot be taken together; choose one run with --run, or, for the ledger of "
                "calipers study compare, name its groups file and the judgments.jsonl beside the ledger"
            )
        known[group.group_id] = run, group  # the latest, because gold may have been added


def _content(group: TrajectoryGroup) -> Any:
    return group.context, [(one.id, one.messages) for one in group.trajectories]


async def _replay(store: Replayer, settings: Settings, groups: list[TrajectoryGroup], asked: list[_Asked]) -> None:
    """Judge a run's ``groups`` again from its answers, and add them to those in ``asked``."""
    by_slot = [
        _asked_of(asked, name_without_password(one.judge), store.recorded.id, settings) for one in settings.judges
    ]
    starts = [len(one.answers.judgments) for one in by_slot]

    def observe(request: JudgeRequest, completion: Completion, reading: Reading) -> None:
        one = by_slot[request.ask.slot]
        answer = request.view.group_id, completion.question
        if answer not in one.counted:
            one.counted.add(answer)
            one.answers.observe(request, completion, reading)

    judge = Judge.replaying(replace(settings, records=replace(settings.records, observer=observe)), store)
    async for result in judge.score_groups(groups, ordered=True):
        for one in by_slot:
            one.results[result.group_id] = result
    for one, start in zip(by_slot, starts, strict=True):
        _number_repeats(one, start)


def _asked_of(asked: list[_Asked], judge: str, run: int, settings: Settings) -> _Asked:
    """Return what ``judge`` was asked in the same way as in a run with ``settings``, new if nothing was."""
    for one in asked:
        if one.judge == judge and _wording(one.settings) == _wording(settings):
            return one
    temperature = (settings.calls.params or {}).get("temperature")
    known = temperature if isinstance(temperature, int | float) else None
    asked.append(_Asked(judge, run, settings, JudgeAnswers(judge, settings.protocol, temperature=known)))
    return asked[-1]


def _wording(settings: Settings) -> tuple[Any, ...]:
    """Return what decides how a judge is asked about a group."""
    return settings.protocol, settings.rubric, settings.question, settings.defence, settings.calls.params


def _number_repeats(one: _Asked, start: int) -> None:
    """Give the answers from ``start`` on other sample numbers in groups in which earlier runs have the same."""
    fresh: dict[str, list[dict[str, Any]]] = {}
    for line in one.answers.judgments[start:]:
        fresh.setdefault(line["group_id"], []).append(line)
    for group_id, lines in fresh.items():
        places = [(group_id, tuple(line["order"]), line["sample_index"]) for line in lines]
        if any(place in one.taken for place in places):
            above = 1 + max(sample for group, _, sample in one.taken if group == group_id)
            for line in lines:
                line["sample_index"] += above
        one.taken.update(((group_id, tuple(line["order"]), line["sample_index"]), None) for line in lines)


def _records(asked: list[_Asked]) -> Iterator[Record]:
    """Yield the answers as records; a group that no run got an answer about has one without."""
    for one in asked:
        for result in one.results.values():
            one.answers.record_unanswered(result)
        others = [other for other in asked if other is not one and _is_alike(other, one)]
        for line in one.answers.judgments:
            more: Mapping[str, Any] = {"prompt_variant": f"run {one.run}"} if others else {}
            yield as_record({**line, **more})


def _is_alike(one: _Asked, other: _Asked) -> bool:
    """Return whether only the prompt tells the answers of two judges apart."""
    parts = [(each.judge, each.answers.protocol, each.answers.temperature) for each in (one, other)]
    return parts[0] == parts[1]
