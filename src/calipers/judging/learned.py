"""What a run begins with: priors and facts that earlier runs recorded about its judges.

Not responsible for how priors are learned (``aggregators.priors``), or for the file they come from (``ledger``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calipers.aggregators.priors import Priors
from calipers.config.settings import Settings
from calipers.judging.instances import JudgeInstances
from calipers.ledger import Ledger, find_learned, heard, last_like


def with_learned(settings: Settings, ledger: Ledger, judges: JudgeInstances) -> Settings:
    """``settings`` with what earlier runs learned; the ``judges`` take it up as well.

    Everything that decides a question is in the settings, so that a run replays. A run that is begun again starts from
    what it knew the first time, so that the same input has the same reward.
    """
    for judge in judges:
        judge.take_up(find_learned(ledger, judge.bare.endpoint, judge.bare.model))
    before = last_like(ledger, settings.to_dict())
    again = None if before is None else settings.begun_again(before)
    named = tuple(judge.named(one.context_window) for judge, one in zip(judges, settings.judges, strict=True))
    known = again or replace(settings, judges=named)
    return replace(known, experience=_priors(ledger, known, before))


def _priors(ledger: Ledger, settings: Settings, before: Mapping[str, Any] | None) -> Priors | None:
    """What earlier answers teach about the judges; None if there are none, or nothing is to be learned."""
    if not settings.records.learn:
        return None
    if before is not None:
        return None if before["experience"] is None else Priors.of(before["experience"])
    found = Priors.learn(heard(ledger, settings), len(settings.judges))
    return found if found.groups else None
