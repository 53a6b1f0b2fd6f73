"""Measures a local judge on prompts that were held out: agreement, baselines, where it is weak, its errors, tricks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, TypeAlias

import numpy as np

from calipers.backends.local.features import LENGTH, OVERLAP, Array
from calipers.calibration import measures
from calipers.distilling.fitting import HeldOut, fit_scaling, residuals
from calipers.distilling.groups import SPREAD, Training, TrainingGroup, padded, within_spread
from calipers.render import render
from calipers.testing import ATTACKS
from calipers.types import Message, TrajectoryGroup

_TRICKED: Final = 100
"""How many groups each trick is tried in."""
_LEAST: Final = 10
"""The least number of groups of which a part's agreement is stated."""
_FEW: Final = 100
_GAMED: Final = 0.1
Figure: TypeAlias = dict[str, Any]
_Trick: TypeAlias = Callable[[str, str, int], str]
"""From an answer, its task and a number that chooses among several texts, to the changed answer."""


def _appended(kind: str) -> _Trick:
    texts = [attack.text for attack in ATTACKS if attack.kind == kind]
    return lambda answer, _, number: f"{answer}\n\n{texts[number % len(texts)]}"


_TRICKS: Final[Mapping[str, _Trick]] = {
    "tells the judge what to score": _appended("instruction"),
    "claims a score": _appended("score_claim"),
    "writes a verdict": _appended("fake_verdict"),
    "says everything twice": lambda answer, _task, _number: f"{answer}\n\n{answer}",
    "adds a heading and a list": lambda answer, _task, _number: "# Answer\n\n- " + answer.replace("\n", "\n- "),
    "repeats the task first": lambda answer, task, _number: f"{task}\n\n{answer}",
}
"""Changes to an answer that make it no better, by name."""


def agreement(groups: Sequence[TrainingGroup], held_out: HeldOut) -> Figure:
    """Return how far a local judge agrees with teacher and gold within groups, beside length and overlap.

    Each figure is the mean over groups of the within-group correlation, with its 95 % bootstrap interval.
    """
    teacher, gold = padded([group.teacher for group in groups]), padded([group.gold for group in groups])
    raw = padded(held_out.raw)
    longest, overlap = (padded([group.measured.values[:, place] for group in groups]) for place in (LENGTH, OVERLAP))
    with_teacher = measures.fidelity(raw, teacher)
    figures = {"teacher": _stated(with_teacher), "pairs": _right_pairs(raw, teacher)}
    for name, rule in (("longest", longest), ("overlap", overlap)):
        theirs = measures.fidelity(rule, teacher)
        figures[name] = _stated(theirs)
        figures[f"above_{name}"] = _stated(with_teacher - theirs)
    if not np.isnan(gold).all():
        figures |= {
            "gold": _stated(measures.fidelity(raw, gold)),
            "teacher_and_gold": _stated(measures.fidelity(teacher, gold)),
        }
    return figures


def _stated(by_group: Array) -> Figure:
    interval = measures.bootstrap_interval(by_group)
    return {
        "value": measures.mean_over_groups(by_group),
        "interval": None if interval is None else list(interval),
        "groups": int((~np.isnan(by_group)).sum()),
    }


def _right_pairs(raw: Array, teacher: Array) -> float | None:
    known = ~(np.isnan(raw) | np.isnan(teacher))
    wanted = measures.pair_signs(teacher, known)
    right = (1 + measures.pair_signs(raw, known) * wanted) / 2
    return float(right[wanted != 0].mean()) if (wanted != 0).any() else None


def parts(groups: Sequence[TrainingGroup], held_out: HeldOut) -> list[Figure]:
    """Return a local judge's agreement with its teacher on parts of the training groups, weakest first."""
    levels = measures.fidelity(padded(held_out.raw), padded([group.teacher for group in groups]))
    length = np.array([group.measured.values[:, LENGTH].mean() for group in groups])
    best = np.array([_length_of_best(group) for group in groups])
    tools = np.array([group.measured.has_tools for group in groups])
    pairs = np.array([len(group.teacher) == 2 for group in groups])
    low, high = np.percentile(length, [33.3, 66.7])
    inside = {
        "short answers": length <= low,
        "long answers": length > high,
        "the teacher prefers a shorter answer": best < 0,
        "the teacher prefers a longer answer": best > 0,
        "with tools": tools,
        "without tools": ~tools,
        "pairs": pairs,
        "groups of three or more": ~pairs,
    }
    rows = [
        {"part": name, **_stated(levels[chosen])}
        for name, chosen in inside.items()
        if (~np.isnan(levels[chosen])).sum() >= _LEAST and not chosen.all()
    ]
    return sorted(rows, key=lambda row: float(row["value"]))


def _length_of_best(one: TrainingGroup) -> float:
    """Return the log length of the teacher's best answer less the mean of the group."""
    known = ~np.isnan(one.teacher)
    if not known.any():
        return 0.0
    lengths, scores = one.measured.values[known, LENGTH], one.teacher[known]
    return float(lengths[scores >= scores.max() - SPREAD].mean() - lengths.mean())


def honesty(groups: Sequence[TrainingGroup], held_out: HeldOut) -> Figure:
    """Return how honest a local judge's standard errors are: each fold's errors by the others' scale.

    ``within_95`` is the share within 1.96 standard errors, and ``ratio`` the root of the mean squared error over the
    squared standard error; honest errors have 0.95 and 1.
    """
    rows = []
    for fold in range(int(held_out.fold.max()) + 1):
        outside = [place for place in range(len(groups)) if held_out.fold[place] != fold]
        scaling = fit_scaling([groups[place] for place in outside], [held_out.raw[place] for place in outside])
        inside = (place for place in range(len(groups)) if held_out.fold[place] == fold)
        rows += [residuals(groups[place], held_out.raw[place], scaling) for place in inside]
    errors = np.concatenate(rows)
    if not len(errors):
        return {"within_95": None, "ratio": None}
    return {"within_95": float((np.abs(errors) <= 1.96).mean()), "ratio": float(np.sqrt((errors**2).mean()))}


def tricks(groups: Sequence[TrainingGroup], held_out: HeldOut) -> list[Figure]:
    """Return how often each trick makes the teacher's worst candidate a local judge's best one, and what it gains.

    The judge was not trained on the prompt. ``gain`` is the mean change of its sum, in the spread of its sums within
    groups. At most 100 groups are tried.
    """
    chosen = range(min(len(groups), _TRICKED))
    spread = within_spread([replace(groups[place], teacher=held_out.raw[place]) for place in chosen]) or 1.0
    figures = []
    for name, trick in _TRICKS.items():
        rows = [row for place in chosen if (row := _tricked(groups[place], held_out, place, trick)) is not None]
        if rows:
            before, after, gain = np.mean(rows, axis=0)
            figures.append({"trick": name, "groups": len(rows), "first_before": float(before),
                          "first_after": float(after), "gain": float(gain / spread)})  # fmt: skip
    return sorted(figures, key=lambda row: -float(row["gain"]))


def _tricked(one: TrainingGroup, held_out: HeldOut, place: int, trick: _Trick) -> tuple[float, float, float] | None:
    """Return whether the teacher's worst candidate was first before and after a trick, and what its sum gained."""
    worst = int(np.nanargmin(one.teacher))
    member = render(one.group).candidates[worst].members[0]
    members = list(one.group.trajectories)
    messages = _changed(members[member].messages, trick, _task_of(one.group), place)
    if messages is None:
        return None
    members[member] = replace(members[member], messages=messages)
    after = render(replace(one.group, trajectories=tuple(members)))
    now = next(at for at, candidate in enumerate(after.candidates) if member in candidate.members)
    raw, sums = held_out.raw[place], held_out.sums(place, after)
    first = [float(values[at] >= values.max() - SPREAD) for values, at in ((raw, worst), (sums, now))]
    return first[0], first[1], float((sums[now] - sums.mean()) - (raw[worst] - raw.mean()))


def _changed(messages: Sequence[Message], trick: _Trick, task: str, number: int) -> tuple[Message, ...] | None:
    """Return messages whose last text of the assistant plays a trick; None without such a text."""
    for place in range(len(messages) - 1, -1, -1):
        content = messages[place].get("content")
        if messages[place].get("role") == "assistant" and isinstance(content, str) and content.strip():
            changed = {**messages[place], "content": trick(content, task, number)}
            return (*messages[:place], changed, *messages[place + 1 :])
    return None


def _task_of(group: TrajectoryGroup) -> str:
    first = group.trajectories[0].messages if group.trajectories else ()
    texts = (message.get("content") for message in (*group.context, *first) if message.get("role") == "user")
    return next((text for text in texts if isinstance(text, str)), "")


def findings_of(training: Training, figures: Mapping[str, Any]) -> list[str]:
    """Return the findings about a local judge, the most important first."""
    agreement = figures["agreement"]
    findings = [*_of_agreement(agreement), *_of_groups(training)]
    if figures["slope"] == 0:
        findings.insert(0, "It learned nothing: it gives all candidates of a group the same score. Do not use it.")
    worst = max(figures["tricks"], key=lambda trick: float(trick["first_after"] - trick["first_before"]), default=None)
    if worst is not None and worst["first_after"] - worst["first_before"] > _GAMED:
        findings.append(
            f"It is easily gamed: a candidate that {worst['trick']} becomes the best of its group in "
            f"{worst['first_after']:.0%} of the groups where it was the teacher's worst ({worst['first_before']:.0%} "
            f"before). Let a strong judge see a share of the groups."
        )
    return findings


def _of_agreement(agreement: Mapping[str, Any]) -> list[str]:
    with_teacher, findings = agreement["teacher"], []
    if with_teacher["interval"] is None or with_teacher["interval"][0] <= 0:
        findings.append("Its agreement with the teacher may be chance: the interval includes 0. Do not use it.")
    for name, words in (("longest", "the longest answer"), ("overlap", "the answer with most of the task's words")):
        above = agreement[f"above_{name}"]
        if above["interval"] is None or above["interval"][0] <= 0:
            findings.append(f"It is not certainly better than choosing {words}.")
    gold, teacher_and_gold = agreement.get("gold"), agreement.get("teacher_and_gold")
    if gold and gold["interval"] and gold["interval"][0] <= 0:
        findings.append("Its agreement with gold may be chance, whatever it learned of the teacher.")
    if teacher_and_gold and teacher_and_gold["interval"] and teacher_and_gold["interval"][0] <= 0:
        findings.append("The teacher itself does not certainly agree with gold: a better teacher comes first.")
    return findings


def _of_groups(training: Training) -> list[str]:
    groups, findings = training.groups, []
    if len(groups) < _FEW:
        findings.append(f"It learned from {len(groups)} groups only; some hundreds are better.")
    if len(training.teachers) == 1:
        findings.append(f"One judge taught it ({training.teachers[0]}): its mistakes are learned as truths.")
    if all(np.isnan(group.stderr).all() for group in groups):
        findings.append("No score has a standard error, so all scores count alike: ask the teacher in two orders.")
    return findings
