"""What a run begins with, and what it leaves behind: the ledger's knowledge about its judges.

Not responsible for what is learned (``experience``, ``backends``) nor for the file it is kept in (``ledger``).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from calipers.aggregators.priors import Priors
from calipers.config.settings import Settings
from calipers.interfaces import Store
from calipers.judging.members import Seat
from calipers.ledger import Ledger, find_learned, heard, last_like


def remembered(ledger: Ledger, settings: Settings, seats: Sequence[Seat]) -> Settings:
    """``settings`` with what earlier runs learned, which the ``seats`` take up, too.

    What decides questions is in the settings, so that a run replays. A run begun again takes up what it knew then: the
    same input, the same reward.
    """
    named = []
    for seat, judge in zip(seats, settings.judges, strict=True):
        seat.take_up(find_learned(ledger, seat.bare.endpoint, seat.bare.model))
        named.append(seat.named(judge.context_window))
    before = last_like(ledger, settings.to_dict())
    again = None if before is None else settings.begun_again(before)
    known = again or replace(settings, judges=tuple(named))
    return replace(known, experience=_experienced(ledger, known, before))


def _experienced(ledger: Ledger, settings: Settings, before: Mapping[str, Any] | None) -> Priors | None:
    """What earlier answers teach about the judges."""
    if not settings.records.learn:
        return None
    if before is not None:
        return None if before["experience"] is None else Priors.of(before["experience"])
    found = Priors.learn(heard(ledger, settings), len(settings.judges))
    return found if found.groups else None


class Memory:
    """Keeps what ``seats`` learn while a run goes on. Safe to use from one thread at a time."""

    def __init__(self, seats: Sequence[Seat]) -> None:
        self._seats = seats
        self._kept = [seat.learned() for seat in seats]

    def keep(self, store: Store) -> None:
        """What the backends learned about their endpoints is there for later runs; this one's snapshot stays as it was."""
        for slot, seat in enumerate(self._seats):
            learned = seat.learned()
            if learned != self._kept[slot]:
                self._kept[slot] = learned
                store.learn(seat.bare, learned)

    def narrowed(self, settings: Settings, store: Store, *, begun: int) -> Settings:
        """``settings`` with the windows that refusals told, for the groups after the ``begun`` ones, kept with the run.

        A replay knows them beforehand.
        """
        told = [seat.gauge.told for seat in self._seats]
        if not any(told) or store.replays:
            return settings
        found = settings.narrowed(begun, told)
        if found is not settings:
            store.change_settings(found.to_dict())
        return found
