"""Health metrics of criteria: how many tell nothing about a group's answers, and what became of those that are written.

Not responsible for writing criteria (``criteria``) or for verdicts (``judging``).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from calipers.types import GroupResult


def criteria_health(results: Sequence[GroupResult]) -> dict[str, float | None]:
    """Return the metrics of criteria over a batch, by name: rates from 0 to 1, None where there are no criteria.

    A criterion is saturated in a group if all verdicts on the answers of the group are equal, of two or more.
    """
    same = [len(set(verdicts)) == 1 for result in results for verdicts in _verdicts(result) if len(verdicts) > 1]
    told = [one for result in results if (one := _written(result)) is not None]
    return {
        "criteria_saturated_rate": sum(same) / len(same) if same else None,
        "criteria_missing_rate": sum(not one["written"] for one in told) / len(told) if told else None,
        "criteria_repeated_rate": _repeated(told),
    }


def _written(result: GroupResult) -> Mapping[str, Any] | None:
    """Return what a result says of written criteria; None if it says nothing, or if a user's key has this name."""
    told = result.extra.get("prompt_criteria")
    return told if isinstance(told, Mapping) and isinstance(told.get("written"), list) else None


def _verdicts(result: GroupResult) -> Iterator[list[bool]]:
    """Yield the known verdicts on each criterion of a graded group."""
    found: dict[str, list[bool]] = defaultdict(list)
    for one in result.trajectories:
        criteria = one.extra.get("criteria")
        for name, verdict in criteria.items() if isinstance(criteria, Mapping) else ():
            if isinstance(verdict, Mapping) and isinstance(verdict.get("met"), bool):
                found[name].append(verdict["met"])
    yield from found.values()


def _repeated(told: Sequence[Mapping[str, Any]]) -> float | None:
    """Return the share of prompts whose criteria are word for word those of another prompt; None below two prompts."""
    texts = {
        str(one.get("question")): tuple(
            str(entry.get("text")) for entry in one["written"] if isinstance(entry, Mapping)
        )
        for one in told
        if one["written"]
    }
    if len(texts) < 2:
        return None
    every = list(texts.values())
    return sum(every.count(one) > 1 for one in every) / len(every)
