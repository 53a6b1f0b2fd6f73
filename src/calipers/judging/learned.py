"""What a run starts from: priors and facts that earlier runs recorded about its judges.

Not responsible for how priors are learned (``aggregators.priors``), or for the file they come from (``ledger``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from calipers.aggregators.priors import Priors
from calipers.config.settings import Settings
from calipers.errors import ConfigError
from calipers.judging.instances import JudgeInstances
from calipers.ledger import WritableLedger, find_learned, recorded_judgments, settings_of_equal_run
from calipers.ledger.answers import RecordedRun, same_choices


def with_learned_priors(settings: Settings, ledger: WritableLedger, judges: JudgeInstances) -> Settings:
    """Before judging, add to ``settings`` what earlier runs in the ledger learned about the judges.

    The ``judges`` start from it as well. The settings contain everything that decides a question, so that a run can be
    replayed. A run that repeats a recorded run starts from the same knowledge as that run did, so that the same input
    gets the same rewards.
    """
    for judge in judges:
        judge.start_from(find_learned(ledger, judge.bare.endpoint, judge.bare.model))
    before = settings_of_equal_run(ledger, settings.to_dict())
    again = None if before is None else settings.with_windows_of(before)
    named = tuple(judge.as_recorded(one.context_window) for judge, one in zip(judges, settings.judges, strict=True))
    known = again or replace(settings, judges=named)
    return replace(known, experience=_priors(ledger, known, before))


def with_settings_of_run(
    settings: Settings, run: RecordedRun, ledger: WritableLedger, judges: JudgeInstances
) -> Settings:
    """Before judging for a run that another process began, add to ``settings`` what that process started from.

    Raises ConfigError if the options that decide a question are not those of the run.
    """
    settings = replace(settings, begins_with=run.settings["begins_with"])
    if not same_choices(settings.to_dict(), run.settings):
        raise ConfigError(
            f"run {run.id} of {ledger.name} was begun with other options; processes that share a run need the same"
        )
    for judge in judges:
        judge.start_from(find_learned(ledger, judge.bare.endpoint, judge.bare.model))
    named = tuple(judge.as_recorded(one.context_window) for judge, one in zip(judges, settings.judges, strict=True))
    known = settings.with_windows_of(run.settings) or replace(settings, judges=named)
    return replace(known, experience=_priors(ledger, known, run.settings))


def _priors(ledger: WritableLedger, settings: Settings, before: Mapping[str, Any] | None) -> Priors | None:
    """Learn the judges' priors from recorded answers; None if there are no answers, or learning is off."""
    if not settings.records.learn:
        return None
    if before is not None:
        return None if before["experience"] is None else Priors.of(before["experience"])
    found = Priors.learn(recorded_judgments(ledger, settings), len(settings.judges))
    return found if found.groups else None
