"""Computes the embedded judge's features: for each candidate, numbers about what it did and how its siblings compare.

This module only counts. The weight of each feature is in the model file. Its description in words is in
``explanation``. The order of siblings never matters: sums over siblings are exact (``math.fsum``).
"""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass

from calipers.backends.embedded import format_requests, phrases, text_counts
from calipers.backends.embedded.evidence import Call, Evidence, read_evidence, task_text
from calipers.types import Message

FEATURES = (
    "silent",
    "cut",
    "unfinished",
    "refusal",
    "hedging",
    "coverage",
    "repetition",
    "scant",
    "bloated",
    "extra_turns",
    "consensus",
    "centrality",
    "figures",
    "call_consensus",
    "tool_consensus",
    "tool_errors",
    "unresolved",
    "false_claim",
    "ungrounded",
    "wrong_sums",
    "loops",
    "format_missed",
    "other_language",
    "addresses_judge",
)
"""The features in the order of ``Measured.values``. Values are in [0, 1], those of ``extra_turns`` in [-1, 1]."""


_SEARCHED = 32_000
"""How many characters are searched for text that addresses the judge."""


@dataclass(frozen=True, slots=True)
class Measured:
    """A candidate's feature values, in the order of FEATURES, and the counts that the explanation mentions."""

    values: tuple[float, ...]
    counts: Mapping[str, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class _Task:
    """What was read from a task. It is computed once for all candidates with the same task."""

    text: str
    terms: set[str]
    figures: set[str]
    wishes: tuple[format_requests.Check, ...]


@dataclass(frozen=True, slots=True)
class _Own:
    """What is known about a candidate before it is compared with its siblings."""

    evidence: Evidence
    values: dict[str, float]
    counts: dict[str, tuple[int, int]]
    terms: set[str]
    figures: frozenset[str]
    conclusion: str | None
    changes: frozenset[tuple[str, str]]
    tools: frozenset[str]
    size: int


def measure_features(
    candidates: Sequence[Sequence[Message]], *, prefix_length: int = 0, copies: Sequence[int] | None = None
) -> tuple[Measured, ...]:
    """Return the embedded backend's features of each candidate, in the order given.

    ``candidates`` are whole message lists whose first ``prefix_length`` messages are shared. ``copies`` holds for each
    candidate the number of identical trajectories that it represents (default 1). Comparisons with siblings count every
    copy. Messages of any form are accepted.
    """
    start = _own_start(candidates, prefix_length)
    shared = candidates[0][:start] if candidates else ()
    context = "\n".join(part for message in shared[-32:] if (part := _plain(message)))
    tasks: dict[str, _Task] = {}
    own = []
    for messages in candidates:
        asked = task_text(shared, messages[start:])
        task = tasks.get(asked) or tasks.setdefault(asked, _read_task(asked))
        own.append(_own_features(read_evidence(messages[start:]), task, context))
    weights = list(copies) if copies is not None else [1] * len(own)
    _add_sibling_features(own, weights)
    return tuple(Measured(tuple(one.values[name] for name in FEATURES), one.counts) for one in own)


def _own_start(candidates: Sequence[Sequence[Message]], prefix_length: int) -> int:
    """Return the index of a candidate's first own message: after the last shared message of a user or the system.

    Trajectories may also share their first steps, which count as own steps of each trajectory. A single candidate
    shares all messages with itself, so its own messages begin with the first message of the assistant.
    """
    if not candidates:
        return 0
    roles = [message.get("role") for message in candidates[0][:prefix_length]]
    if len(candidates) == 1:
        return next((i for i, role in enumerate(roles) if role == "assistant"), len(roles))
    return max((i + 1 for i, role in enumerate(roles) if role not in ("assistant", "tool", "function")), default=0)


def _plain(message: Message) -> str:
    content = message.get("content")
    return content[:16_000] if isinstance(content, str) else ""


# --- a candidate without its siblings ---------------------------------------------------------------------------------


def _read_task(asked: str) -> _Task:
    return _Task(
        asked,
        text_counts.terms(text_counts.words(asked)),
        set(text_counts.numbers(asked)),
        format_requests.requested_format_checks(asked),
    )


def _own_features(evidence: Evidence, task: _Task, context: str) -> _Own:
    answer = evidence.answer
    tokens = text_counts.words(answer)
    spoken = tokens if evidence.said == answer else text_counts.words(evidence.said)
    covered, asked = len(text_counts.terms(spoken) & task.terms), len(task.terms)
    checked, wrong = text_counts.count_calculations(answer[-8000:])
    missed = sum(not wish(answer) for wish in task.wishes)
    low = phrases.normalized_speech(answer[:8000])
    aloud = low if spoken is tokens and len(answer) <= 8000 else phrases.normalized_speech(evidence.said[:_SEARCHED])
    # A hand-over to a person also ends a task, without an answer after the tool call.
    handed_over = any(phrases.HANDOVER.search(call.name.lower()) for call in evidence.calls)
    values = {
        "silent": float(not answer),
        "cut": float(text_counts.is_cut(answer)),
        "unfinished": float(evidence.unfinished and not handed_over),
        "refusal": float(bool(phrases.REFUSAL.search(low[:300]))),
        "hedging": min(1.0, len(phrases.HEDGE.findall(low)) / (1 + len(tokens) / 50) / 2),
        "coverage": _share(covered, asked),
        "repetition": text_counts.repetition_share(tokens),
        "wrong_sums": _share(wrong, checked),
        "format_missed": _share(missed, len(task.wishes)),
        "other_language": float(_other_script(task.text, answer)),
        "addresses_judge": float(bool(phrases.TO_JUDGE.search(aloud))),
    }
    counts = {
        "coverage": (covered, asked),
        "wrong_sums": (wrong, checked),
        "format_missed": (missed, len(task.wishes)),
    }
    _add_tool_features(evidence, context, values, counts)
    worked = [call for call in evidence.calls if not call.failed]
    return _Own(
        evidence=evidence,
        values=values,
        counts=counts,
        terms=text_counts.terms(tokens),
        figures=frozenset(text_counts.numbers(answer[-8000:])) - task.figures,
        conclusion=text_counts.concluding_number(answer),
        changes=frozenset((call.name, _comparable_arguments(call.arguments)) for call in worked if call.changes),
        tools=frozenset(call.name for call in worked),
        size=len(tokens),
    )


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 0.0


def _other_script(task: str, answer: str) -> bool:
    asked, given = text_counts.script(task), text_counts.script(answer)
    return bool(asked and given) and asked != given


def _comparable_arguments(arguments: str) -> str:
    """Return a tool call's arguments in a form that ignores the order of keys and the spacing, for comparison."""
    try:
        return json.dumps(json.loads(arguments), sort_keys=True)
    except (ValueError, RecursionError):
        return arguments


def _add_tool_features(
    evidence: Evidence, context: str, values: dict[str, float], counts: dict[str, tuple[int, int]]
) -> None:
    calls = evidence.calls
    failed = sum(call.failed for call in calls)
    open_failures = _unresolved(calls)
    repeated = len(calls) - len({(call.name, call.arguments, call.result) for call in calls})
    end = phrases.normalized_speech(evidence.answer[-2000:])
    claims = bool(open_failures) and bool(phrases.SUCCESS.search(end)) and not phrases.ADMITTED_FAILURE.search(end)
    loose, shown = _ungrounded(evidence, context)
    values |= {
        "tool_errors": _share(failed, len(calls)),
        "unresolved": float(open_failures > 0),
        "false_claim": float(claims),
        "ungrounded": _share(loose, shown),
        "loops": _share(repeated, len(calls)),
    }
    counts |= {
        "tool_errors": (failed, len(calls)),
        "unresolved": (open_failures, failed),
        "ungrounded": (loose, shown),
        "loops": (repeated, len(calls)),
    }


def _unresolved(calls: Sequence[Call]) -> int:
    """Return how many tools failed in their last call."""
    return sum({call.name: call.failed for call in calls}.values())


def _ungrounded(evidence: Evidence, context: str) -> tuple[int, int]:
    """Return how many numbers in the answer occur in no text that the candidate was given, and how many were checked.

    Only numbers of three digits or more count, and only if tools returned something: otherwise a number in prose was
    computed and has no source.
    """
    if not any(call.result for call in evidence.calls):
        return 0, 0
    shown = {_digits(number) for number in text_counts.numbers(evidence.answer[-8000:])}
    told = _digits(evidence.heard) + _digits(context)
    checked = sorted(number for number in shown if len(number) >= 3)[:64]
    # The answer may round the last digit, and languages differ in their use of points and commas.
    return sum((number[:-1] if len(number) > 3 else number) not in told for number in checked), len(checked)


def _digits(said: str) -> str:
    return said.replace(",", "").replace(".", "").replace("\u00a0", "")


# --- a candidate compared with its siblings ---------------------------------------------------------------------------


def _add_sibling_features(own: Sequence[_Own], weights: Sequence[int]) -> None:
    """Add the features that compare siblings. A length counts against a candidate below half or above twice the group's
    mean.
    """
    lengths = _relative_sizes([one.size for one in own], weights)
    turns = _relative_sizes([one.evidence.turns for one in own], weights)
    words = _agreement([one.terms for one in own], weights)
    figures = _agreement([one.figures for one in own], weights)
    changes = _agreement([one.changes for one in own], weights)
    tools = _agreement([one.tools for one in own], weights)
    agree = _same_conclusion([one.conclusion for one in own], weights)
    for i, one in enumerate(own):
        one.values.update(
            scant=max(0.0, min(1.0, -lengths[i] - 0.5)),
            bloated=max(0.0, min(1.0, lengths[i] - 0.5)),
            extra_turns=max(-1.0, min(1.0, turns[i])),
            centrality=words[i],
            figures=figures[i],
            call_consensus=changes[i],
            tool_consensus=tools[i],
            consensus=agree[i][0],
        )
        one.counts["consensus"] = agree[i][1]


def _relative_sizes(sizes: Sequence[int], weights: Sequence[int]) -> list[float]:
    """Return each size relative to the group's geometric mean, as a logarithm to base 4: 0.5 means twice the mean."""
    logs = [math.log(1 + size) for size in sizes]
    mean = math.fsum(weight * log for weight, log in zip(weights, logs, strict=True)) / max(1, sum(weights))
    return [(log - mean) / math.log(4) for log in logs]


def _agreement(sets: Sequence[Collection[object]], weights: Sequence[int]) -> list[float]:
    """Return the Dice overlap of each set with its siblings' sets, counting copies: 1 = all equal, 0 = nothing shared.

    The time is linear in the sizes of the sets, because elements are counted over all sets instead of comparing pairs
    of sets. A candidate with an empty set agrees with the siblings whose sets are empty.
    """
    everyone = sum(weights)
    if everyone < 2:
        return [0.0] * len(sets)
    holders: Counter[object] = Counter()
    for elements, weight in zip(sets, weights, strict=True):
        for element in elements:
            holders[element] += weight
    mass = sum(weight * len(elements) for elements, weight in zip(sets, weights, strict=True))
    empty = sum(weight for elements, weight in zip(sets, weights, strict=True) if not elements)
    shares = []
    for elements in sets:
        shared = sum(holders[element] - 1 for element in elements)
        size = (everyone - 1) * len(elements) + mass - len(elements)
        shares.append(2 * shared / size if elements else (empty - 1) / (everyone - 1))
    return shares


def _same_conclusion(conclusions: Sequence[str | None], weights: Sequence[int]) -> list[tuple[float, tuple[int, int]]]:
    """Return for each candidate the share of its siblings that conclude with the same number, and the counts behind it.

    The share is 0 for all if fewer than half of the candidates conclude with a number.
    """
    everyone = sum(weights)
    held: Counter[str] = Counter()
    for conclusion, weight in zip(conclusions, weights, strict=True):
        if conclusion is not None:
            held[conclusion] += weight
    if everyone < 3 or 2 * sum(held.values()) < everyone:
        return [(0.0, (0, 0))] * len(conclusions)
    result = []
    for conclusion in conclusions:
        others = held[conclusion] - 1 if conclusion is not None else 0
        result.append((others / (everyone - 1), (others, everyone - 1)))
    return result
