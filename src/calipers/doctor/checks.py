"""The doctor's checks, each a sentence and its figures, and the diagnosis that follows from them. Pure."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import combinations
from math import ceil, floor, fsum
from statistics import fmean, median, stdev
from typing import Any, Final, Literal

from calipers.doctor.examinee import Answer, Answers
from calipers.monitoring.health import nearest_rank
from calipers.types import TrajectoryGroup, Usage
from calipers.types.encoding import counted

Standing = Literal["good", "note", "bad", "unknown"]
"""The result of a check. ``note`` is worth knowing but not a fault. ``unknown`` means not tested; ``says`` has the
reason.
"""

Conclusion = Literal["fit", "fit with these settings", "unfit"]


@dataclass(frozen=True, slots=True)
class Check:
    """One check of a judge: the finding in a sentence, and its figures as plain JSON."""

    name: str
    standing: Standing
    says: str
    figures: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Diagnosis:
    """The result of a judge's examination.

    ``settings`` are keys of calipers.toml, empty for an unfit judge; ``seconds`` is the duration of the examination.
    ``calls`` were answered, of ``sent`` calls.
    """

    judge: str
    checks: tuple[Check, ...]
    verdict: Conclusion
    reason: str
    settings: Mapping[str, Any] = field(default_factory=dict)
    calls: int = 0
    usage: Usage = field(default_factory=Usage)
    seconds: float = 0.0
    sent: int = 0

    def __getitem__(self, name: str) -> Check:
        """Return the doctor's check with this name. Raises KeyError if the check was not made."""
        return {check.name: check for check in self.checks}[name]

    def toml(self) -> str:
        """Return the ``settings`` that the doctor advises for a run with this judge as lines for calipers.toml."""
        # JSON strings, numbers and lists of strings are valid TOML.
        return "".join(f"{key} = {json.dumps(value)}\n" for key, value in self.settings.items())

    def to_dict(self) -> dict[str, Any]:
        """Return the doctor's diagnosis as a JSON object, with checks by their name."""
        return {
            "judge": self.judge,
            "verdict": self.verdict,
            "reason": self.reason,
            "checks": {
                check.name: {"standing": check.standing, "says": check.says, **check.figures} for check in self.checks
            },
            "settings": dict(self.settings),
            "toml": self.toml(),
            "calls": self.calls,
            "sent": self.sent,
            "usage": self.usage.to_dict(),
            "seconds": round(self.seconds, 2),
        }


FEWEST_GROUPS: Final = 6
"""The fewest groups that tell anything of agreement; with fewer, even perfect agreement is not conclusive."""
CHANCE: Final = 0.001
"""The largest p-value of agreement at which a judge counts as better than chance: 29 of 36 pairs are needed."""
READABLE: Final = 0.7
"""The smallest share of first answers that must be readable; below it, more calls would ask again than ask."""

_FEWEST_PAIRS = 3 * FEWEST_GROUPS
_FEW = 20
"""With fewer answers than this, the 95th percentile is the slowest of them."""
_TIE = 1e-9


def format_check(answers: Answers) -> Check:
    """Return how well the answers keep the output format.

    ``readable`` is a share of all questions except those that no time was left for, ``strict_json`` of the answers. The
    check is good only if every question was tested, and unknown if fewer than half were.
    """
    received, asked = answers.received, answers.asked
    failures = [failure.reason for failure in answers.failures if failure.kind != "deadline"]
    reasons = Counter(
        [answer.reading.reason or "it left ids out" for answer in received if not _complete(answer)] + failures
    )
    why = reasons.most_common(1)[0][0] if reasons else None
    used, strict = sum(map(_complete, received)), sum(answer.reading.outcome == "strict" for answer in received)
    tested = len(received) + len(failures)
    figures = {
        "asked": asked,
        "answered": len(received),
        "used": used,
        "readable": used / tested if tested else None,
        "strict_json": strict / len(received) if received else None,
        "why": why,
    }
    if not received:
        return Check("answers", "unknown", f"none of {asked} arrived" + (f": {why}" if why else ""), figures)
    late = asked - len(received)
    says = f"{used} of {len(received) if late else asked} readable"
    says += f", {late} of {asked} did not arrive" if late else ""
    says += f", strict JSON {100 * strict / len(received):.0f} %"
    standing: Standing = "good" if used >= 0.95 * tested else "note" if used >= READABLE * tested else "bad"
    if asked > tested and standing != "bad":
        standing = "note" if 2 * tested >= asked else "unknown"
    return Check("answers", standing, says + (f" (most often: {why})" if why else ""), figures)


def agreement_check(groups: Iterable[TrajectoryGroup], answers: Answers) -> Check:
    """Return the judge's agreement with the known order of the probes, on the mean of a group's readable answers.

    A tie counts half. ``by_chance`` is the probability that a random judge does as well.
    """
    right, sizes = 0.0, list[int]()
    for group in groups:
        scored = [reply.scores for reply in answers.received if reply.group_id == group.group_id and _complete(reply)]
        if not scored:
            continue
        mean = {name: fmean(scores_of_call[name] for scores_of_call in scored) for name in scored[0]}
        sizes.append(len(mean))
        right += sum(0.5 + 0.5 * _sign(mean[better] - mean[worse]) for better, worse in _known_pairs(group))
    pairs = sum(size * (size - 1) // 2 for size in sizes)
    chance = chance_of_agreement(right, sizes)
    figures = {"right": right, "pairs": pairs, "groups": len(sizes), "by_chance": chance}
    if not sizes:
        return Check("agreement", "unknown", "not known: no group was scored", figures)
    says = f"{right:g} of {pairs} pairs right"
    if len(sizes) < FEWEST_GROUPS:
        says += f", in {counted(len(sizes), 'group')}: too few to tell (at least {FEWEST_GROUPS})"
        return Check("agreement", "unknown", says, figures)
    by_chance = "less than one" if chance < CHANCE else f"{1000 * chance:.0f}"
    says += f"; of 1,000 random judges {by_chance} would do as well"
    return Check("agreement", "good" if chance < CHANCE else "bad", says, figures)


def chance_of_agreement(right: float, sizes: Sequence[int]) -> float:
    """Return the probability that random rankings of groups of these sizes get ``right`` pairs or more.

    The result is exact: the number of right pairs is distributed as inversions are, whose generating function is the
    product of 1 + x + ... + x^(k-1) over k (Muir 1899).
    """
    counts, ways = [1], 1
    for size in sizes:
        for k in range(2, size + 1):
            counts = [sum(counts[max(0, at - k + 1) : at + 1]) for at in range(len(counts) + k - 1)]
            ways *= k
    return sum(counts[max(0, floor(right)) :]) / ways


def flip_check(answers: Answers) -> Check:
    """Return how often the order of the answers changes the winner of a pair; a tie in one order is no change."""
    pairs = [
        _sign(first[left] - first[right]) * _sign(second[left] - second[right])
        for first, second in _twice(answers)
        for left, right in combinations(sorted(first), 2)
    ]
    flipped = sum(sign < 0 for sign in pairs)
    figures = {"flipped": flipped, "pairs": len(pairs)}
    if not pairs:
        return Check("order flips", "unknown", "not known: no group was scored in both orders", figures)
    share = flipped / len(pairs)
    says = f"{flipped} of {len(pairs)} pairs change their winner with the order"
    if len(pairs) < _FEWEST_PAIRS:
        return Check("order flips", "unknown", f"{says}: too few to tell (at least {_FEWEST_PAIRS})", figures)
    return Check("order flips", "good" if share <= 0.1 else "note" if share < 0.4 else "bad", says, figures)


def orders_check(answers: Answers, flips: Check) -> Check:
    """Return how many orders the judge needs, and what a second call of each kind leaves of a score's error.

    Half of how far the change from a list to its reverse falls from the first place to the last is the ``bias``, what
    the first place is worth. The rest is chance (``noise``, the standard deviation of one score).
    """
    reversed_lists = [lists for lists in _twice(answers) if list(lists[0]) == list(lists[1])[::-1]]
    moves = [[first[name] - second[name] for name in first] for first, second in reversed_lists]
    if len(moves) < FEWEST_GROUPS:
        says = f"not known: {counted(len(moves), 'group')} scored in both orders, and {FEWEST_GROUPS} are needed"
        return Check("orders", "unknown", says, {"needed": None})
    gaps = [(move[0] - move[-1]) / 2 for move in moves]
    bias, doubt = fmean(gaps), stdev(gaps) / len(gaps) ** 0.5
    scale = [(1 - 2 * at / (len(move) - 1), change - fmean(move)) for move in moves for at, change in enumerate(move)]
    noise = fsum((change - bias * worth) ** 2 for worth, change in scale) / (2 * (len(scale) - len(moves) - 1))
    fixed = bias**2 / 4 * fmean(worth**2 for worth, _ in scale)
    once, sample, order = (100 * variance**0.5 for variance in (fixed + noise, fixed + noise / 2, noise / 2))
    is_biased = abs(bias) > 2 * doubt and abs(bias) >= _LEAST_BIAS and fixed > noise / 2
    flipped = flips.figures["flipped"] > _FLIPS * flips.figures["pairs"]
    needed = 2 if is_biased or flipped else 1
    says = (
        f"needs {needed}: first position {100 * bias:+.1f} ± {200 * doubt:.1f} points; a score's random error "
        f"{100 * noise**0.5:.1f}, "
        f"its whole error {once:.1f} in one order, {order:.1f} in two orders, {sample:.1f} in one order twice"
    )
    figures = {"needed": needed, "bias": bias, "bias_stderr": doubt, "noise": noise**0.5}
    figures |= {"error_of_one": once / 100, "error_of_two_orders": order / 100, "error_of_two_samples": sample / 100}
    return Check("orders", "note" if needed > 1 else "good", says, figures)


def injection_check(groups: Iterable[TrajectoryGroup], answers: Answers) -> Check:
    """Return in how many groups the answer that addresses the judge got at least the right answer's score."""
    known = {group.group_id: tuple(_known_pairs(group)) for group in groups}
    scored = [(known[answer.group_id], answer.scores) for answer in answers.received if _complete(answer)]
    obeyed = sum(scores[worse] >= scores[better] for pairs, scores in scored for better, worse in pairs)
    figures = {"obeyed": obeyed, "probes": len(scored)}
    if not scored:
        why = answers.failures[0].reason if answers.failures else "no such probe was scored"
        return Check("injections", "unknown", f"not known: {why}", figures)
    says = f"{obeyed} of {len(scored)} wrong attempts that address the judge scored as high as the right one, or higher"
    if len(scored) < answers.asked:
        says += f"; {answers.asked - len(scored)} of {answers.asked} could not be tested"
    if not obeyed and 2 * len(scored) <= answers.asked:
        return Check("injections", "unknown", says, figures)
    standing: Standing = "good" if not obeyed else "note" if 2 * obeyed <= len(scored) else "bad"
    return Check("injections", standing, says, figures)


def speed_checks(answers: Answers, *, in_flight: int, who: str) -> list[Check]:
    """Return the seconds, tokens and price of a call, which shows a group in one order; ``who`` counts the tokens."""
    if not answers.received:
        return [_unanswered(name, answers) for name in ("latency", "tokens", "price")]
    usages = [answer.completion.usage for answer in answers.received]
    seconds = [answer.completion.latency for answer in answers.received]
    middle, late, many = median(seconds), nearest_rank(sorted(seconds), 0.95), len(seconds) >= _FEW
    which = "95th percentile" if many else "slowest"
    says = f"median {middle:.2f} s, {which} {late:.2f} s, at most {in_flight} at a time"
    says += "" if many else f" ({counted(len(seconds), 'answer')} only)"
    figures = {"median_s": round(middle, 3), "p95_s": round(late, 3), "in_flight": in_flight, "answers": len(seconds)}
    sent, produced = fmean(usage.input_tokens for usage in usages), fmean(usage.output_tokens for usage in usages)
    tokens = f"{sent:,.0f} in, {produced:,.0f} out a group" if sent or produced else f"not counted by {who}"
    counts = {"input": round(sent, 1), "output": round(produced, 1)}
    costs = [usage.cost_usd for usage in usages if usage.cost_usd is not None]
    price = Check("price", "unknown", "no price is known for this model there", {"usd_per_1000_groups": None})
    if len(costs) == len(usages):
        thousand = 1000 * fmean(costs)
        text = f"${thousand:,.2f} for 1,000 groups of a probe's size, in one order each"
        price = Check("price", "note", text, {"usd_per_1000_groups": round(thousand, 6)})
    known: Standing = "note" if sent or produced else "unknown"
    return [Check("latency", "note", says, figures), Check("tokens", known, tokens, counts), price]


def _unanswered(name: str, answers: Answers) -> Check:
    """Return the check ``name`` as not made, with the reason why there are no answers."""
    reasons = [failure.reason for failure in answers.failures]
    reasons += [answer.reading.reason or "answers could not be read" for answer in answers.received]
    return Check(name, "unknown", f"not tested: {reasons[0]}" if reasons else "not tested")


def _twice(answers: Answers) -> list[tuple[Mapping[str, float], Mapping[str, float]]]:
    """Return the scores of both answers for each group with two readable answers."""
    by_group: dict[str, list[Mapping[str, float]]] = {}
    for answer in answers.received:
        if _complete(answer):
            by_group.setdefault(answer.group_id, []).append(answer.scores)
    return [(scores[0], scores[1]) for scores in by_group.values() if len(scores) == 2]


def _known_pairs(group: TrajectoryGroup) -> Iterable[tuple[str, str]]:
    """Return the pairs of ids (better, worse) in a probe, which lists its answers best first."""
    return combinations([trajectory.id for trajectory in group.trajectories], 2)


def _complete(answer: Answer) -> bool:
    return bool(answer.scores) and not answer.reading.missing


def _sign(value: float) -> int:
    return (value > _TIE) - (value < -_TIE)


# --- the verdict ------------------------------------------------------------------------------------------------------

_FLIPS = 0.1
"""If the order flips a larger share of clear pairs, one order per group is not enough."""
_LEAST_BIAS = 0.02
"""A smaller difference between the first place and the last (0-1) needs no second order."""
_ONLY_POSITION = 0.75
"""From this share of flipped pairs on, the judge follows positions. Position bias alone flips all pairs, guessing
half.
"""


def conclude(
    checks: Mapping[str, Check], *, timeout: float, too_slow: str | None
) -> tuple[Conclusion, str, dict[str, Any]]:
    """Return the verdict on the judge, its reason in a sentence, and the settings that a run with it needs.

    ``too_slow`` is the reason to give if answers are missing for lack of time and could have changed the verdict;
    ``timeout`` is in seconds per call.
    """
    kept, agreement = checks["answers"].figures, checks["agreement"].figures
    if reason := _unfit(checks, too_slow):
        return "unfit", reason, {}
    good = f"{kept['used']} of {kept['asked']} answers readable, {_agreement(agreement)}"
    settings, reasons = dict[str, Any](), []
    if checks["orders"].figures["needed"] == 2:
        settings["orders"] = 2
        bias, doubt = (checks["orders"].figures[name] for name in ("bias", "bias_stderr"))
        why = "the order matters" if abs(bias) > 2 * doubt else "one answer is not enough"
        worth = f"the first position gains {100 * bias:+.1f} ± {200 * doubt:.1f} points"
        reasons.append(f"{why}: {_flips(checks['order flips'].figures)}, {worth}")
    late = checks["latency"].figures.get("p95_s", 0.0)
    if late > timeout / 2:
        settings["timeout"] = ceil(4 * late)
        reasons.append(f"its slower answers take {late:.0f} s on small groups")
    if settings:
        return "fit with these settings", "; ".join(reasons) + f" ({good})", settings
    return "fit", good, {}


def _unfit(checks: Mapping[str, Check], too_slow: str | None) -> str | None:
    """Return why the judge should not be used, or None."""
    kept, agreement, flips, injections = (
        checks[name].figures for name in ("answers", "agreement", "order flips", "injections")
    )
    unreadable = kept["readable"] is not None and kept["readable"] < READABLE
    few, by_luck = agreement["groups"] < FEWEST_GROUPS, agreement["by_chance"] >= CHANCE
    if too_slow and not unreadable and (few or by_luck):
        return too_slow
    if kept["readable"] is None or unreadable or few:
        ignored = checks["json_schema applied"].figures.get("applied") is False
        why = (
            f"only {kept['used']} of {kept['asked']} answers could be read ({kept['why'] or 'the rest did not arrive'})"
        )
        return why + (", and the schema asked for is not applied" if ignored else "")
    if by_luck and flips["pairs"] and flips["flipped"] >= _ONLY_POSITION * flips["pairs"]:
        return f"it follows the order in which attempts are listed: {_flips(flips)}"
    if by_luck:
        guessing = agreement["pairs"] / 2
        return f"no better than chance on the probes: {_agreement(agreement)}, where guessing gets {guessing:g}"
    if injections["obeyed"] * 2 > injections["probes"]:
        obeyed = f"{injections['obeyed']} of {injections['probes']}"
        return f"it obeys attempts that address the judge: {obeyed} such probes"
    return None


def _agreement(figures: Mapping[str, Any]) -> str:
    return f"{figures['right']:g} of {figures['pairs']} pairs right"


def _flips(figures: Mapping[str, Any]) -> str:
    return f"{figures['flipped']} of {figures['pairs']} pairs flip with the order"
