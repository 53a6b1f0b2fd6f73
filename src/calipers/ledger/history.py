"""Reads the judgments of recorded runs, from which calipers learns how reliable judges are. Never writes."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from calipers.config.settings import Settings, readable_settings
from calipers.ledger.database import ReadableLedger
from calipers.types import Comparison, Judgment, Rating, Verdict

_MOST_GROUPS = 2000
"""How many of the latest groups are read; more would delay the start of a run."""

_KINDS: tuple[type[Rating | Comparison | Verdict], ...] = (Rating, Comparison, Verdict)


def recorded_judgments(ledger: ReadableLedger, settings: Settings) -> Iterator[Mapping[int, Sequence[Judgment]]]:
    """Yield the ledger's recorded judgments of the judges in ``settings``: a mapping by slot for each group, the latest
    group first.

    Only runs with the same protocol count. A group that was judged several times with the same requests counts once.
    """
    slots = {(one.endpoint, one.model): slot for slot, one in enumerate(settings.judges)}
    seen: set[frozenset[str]] = set()
    for run, recorded in _runs(ledger):
        own = [slots.get((one["endpoint"], one["model"])) for one in recorded["judges"]]
        asked_alike = (recorded["protocol"], recorded["expected"]) == (settings.protocol, settings.question.expected)
        if not asked_alike or all(one is None for one in own):
            continue
        for keys, judgments in _groups(ledger, run):
            if keys in seen:
                continue
            seen.add(keys)
            by_slot: dict[int, list[Judgment]] = {}
            for judgment in judgments:
                if not isinstance(judgment, Verdict) and (slot := own[judgment.slot]) is not None:
                    by_slot.setdefault(slot, []).append(replace(judgment, slot=slot))
            if by_slot:
                yield by_slot
            if len(seen) >= _MOST_GROUPS:
                return


def settings_of_equal_run(ledger: ReadableLedger, settings: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return the settings of the latest run in the ledger that equals ``settings``, or None if there is no such run."""
    return next((recorded for _, recorded in _runs(ledger) if same_choices(settings, recorded)), None)


def find_equal_run(ledger: ReadableLedger, settings: Mapping[str, Any]) -> int | None:
    """Return the number of the latest run in the ledger that equals ``settings``, or None if there is no such run."""
    return next((number for number, recorded in _runs(ledger) if same_choices(settings, recorded)), None)


def same_choices(settings: Mapping[str, Any], recorded: Mapping[str, Any]) -> bool:
    """Return whether a run with ``settings`` asks what the run with ``recorded`` settings asked.

    What was learned before a run is not compared.
    """
    return _chosen_by_user(json.loads(json.dumps(settings))) == _chosen_by_user(recorded)


def _chosen_by_user(settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return only the settings that the user chose, without what was learned from earlier runs."""
    judges = [(one["judge"], one["endpoint"], one["model"]) for one in settings["judges"]]
    return {**settings, "judges": judges, "experience": None, "windows": []}


def _runs(ledger: ReadableLedger) -> Iterator[tuple[int, Mapping[str, Any]]]:
    for number, settings in ledger.rows("SELECT id, settings FROM runs ORDER BY id DESC"):
        yield number, ledger.decoded(settings, readable_settings)


def _groups(ledger: ReadableLedger, run: int) -> Iterator[tuple[frozenset[str], list[Judgment]]]:
    query = "SELECT position, key, detail FROM asks WHERE run = ? ORDER BY position DESC, number LIMIT ?"
    keys: set[str] = set()
    judgments: list[Judgment] = []
    last = None
    for position, key, detail in ledger.rows(query, (run, 16 * _MOST_GROUPS)):
        if position != last and keys:
            yield frozenset(keys), judgments
            keys, judgments = set(), []
        last = position
        keys.add(key)
        judgments += ledger.decoded(detail, _judgments)
    if keys:
        yield frozenset(keys), judgments


def _judgments(detail: Mapping[str, Any]) -> list[Judgment]:
    return [one for recorded in detail.get("judgments", ()) if (one := _judgment(recorded)) is not None]


def _judgment(recorded: Mapping[str, Any]) -> Judgment | None:
    """Return a judgment from its recorded fields, or None if this version of calipers does not know its kind.

    Older versions recorded ratings without ``spread``.
    """
    known = recorded.keys() | {"spread"} if "value" in recorded else recorded.keys()
    kind = next((one for one in _KINDS if {field.name for field in fields(one)} == known), None)
    if kind is None:
        return None
    values: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value for key, value in recorded.items()
    }
    return kind(**values)
