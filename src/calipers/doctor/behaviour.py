"""Checks of a judge's behaviour: reasoning, replies at a short token limit, repeatability, logprobs, speed and price.

Pure: answers in, checks out.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import ceil
from statistics import fmean, median

from calipers.doctor.diagnosis import Check
from calipers.doctor.examinee import Answer, Answers
from calipers.doctor.probe_statistics import count_repeats
from calipers.types import Completion, Rating
from calipers.types.encoding import counted

SHORT = 16
"""The token limit of the question whose reply must be cut off: fewer than any verdict on three attempts needs."""

_FEW = 20
"""With fewer answers than this, the 95th percentile is the slowest of them."""


def check_reasoning(answers: Answers) -> Check:
    """Return the doctor's check of where the examined judge writes its reasoning, if it writes any."""
    received = answers.received
    if not received:
        return _unanswered("thinking", answers)
    apart = sum(bool(one.completion.reasoning) for one in received)
    inside = sum(_thinks_aloud(one.completion.text) for one in received)
    figures = {"apart": apart, "in_text": inside, "answers": len(received)}
    if inside:
        says = f"inside the text in {inside} of {len(received)} answers; it is removed before reading"
        return Check("thinking", "note", says, figures)
    if apart:
        return Check("thinking", "good", f"separate from the text in {apart} of {len(received)} answers", figures)
    return Check("thinking", "good", "none shown", figures)


def check_served_model(answers: Answers, *, who: str = "the server") -> Check:
    """Return the doctor's check of which model and version the judge's answers name; ``who`` gives them.

    If there are several, the check reports them, because their scores may not be comparable.
    """
    name = "answers as"
    if not answers.received:
        return _unanswered(name, answers)
    by_name = {_served(one.completion): _served_text(one.completion) for one in answers.received}
    names = sorted(by_name)
    if names == [""]:
        return Check(name, "note", f"{who} does not say which model answers", {"servers": []})
    says = ", ".join(by_name[one] for one in names)
    return Check(name, "good" if len(names) == 1 else "note", says, {"servers": names})


def _served(completion: Completion) -> str:
    return " ".join(part for part in (completion.model, completion.fingerprint) if part)


def _served_text(completion: Completion) -> str:
    """Return for people which model answered. A fingerprint is of the server's software and settings, not a model."""
    model = completion.model or "(no name)"
    return f"{model} (system fingerprint {completion.fingerprint})" if completion.fingerprint else model


def check_truncation(answers: Answers, *, who: str = "the server") -> Check:
    """Return the doctor's check whether the judge's server (``who``) reports a truncated reply as truncated."""
    name = "cut-off replies"
    if not answers.received:
        return _unanswered(name, answers)
    one = answers.received[0]
    ended, tokens = one.completion.finish_reason, one.completion.usage.output_tokens
    figures = {"finish_reason": ended, "output_tokens": tokens}
    if ended == "length":
        return Check(name, "good", f"are reported (with {SHORT} tokens allowed)", {"behaviour": "said", **figures})
    if one.scores and not one.reading.missing:
        says = f"do not occur: {who} ignored a limit of {SHORT} tokens"
        return Check(name, "note", says, {"behaviour": "limit ignored", **figures})
    says = f"are not reported: finish reason {ended!r}; only its form then shows that a verdict is incomplete"
    return Check(name, "bad", says, {"behaviour": "silent", **figures})


def check_probabilities(answers: Answers | None, *, who: str = "the server") -> Check:
    """Return the doctor's check whether the judge's scores can be computed from the logprobs that ``who`` returns.
    ``answers`` is None if its API has none.
    """
    name = "probabilities"
    if answers is None:
        return Check(
            name, "note", "its API has no logprobs, so expected=True has no effect", {"told": False, "usable": None}
        )
    if not answers.received:
        return _unanswered(name, answers)
    ratings = [one for each in answers.received for one in each.reading.judgments if isinstance(one, Rating)]
    usable = sum(one.spread is not None for one in ratings)
    told = usable > 0 or any(one.completion.logprobs is not None for one in answers.received)
    figures = {"told": told, "usable": usable, "scores": len(ratings)}
    if not told:
        return Check(name, "note", f"{who} returns no logprobs, so expected=True has no effect", figures)
    says = f"returned, and usable for {usable} of {len(ratings)} scores" + (
        "" if usable else ": the digits had too little probability"
    )
    return Check(name, "good" if usable and usable == len(ratings) else "note", says, figures)


def check_repeatability(answers: Answers) -> Check:
    """Return the doctor's check whether the judge gives a question the same scores in two calls at temperature 0."""
    name = "repeatability"
    same, twice, apart = count_repeats(answers)
    figures = {
        "same": same,
        "asked_twice": twice,
        "largest_difference": round(apart, 4),
        "temperature_refused": "temperature" in answers.refused,
    }
    if not twice:
        return _unanswered(name, answers)
    how = "at its own temperature (it refuses the parameter)" if figures["temperature_refused"] else "at temperature 0"
    says = f"{same} of {twice} questions got the same scores twice {how}"
    if same < twice:
        says += f"; the largest difference is {100 * apart:.0f} of 100 points"
    return Check(name, "good" if same == twice else "note", says, figures)


def check_speed(answers: Answers, *, in_flight: int, who: str = "the server") -> list[Check]:
    """Return the doctor's checks of the seconds, tokens and price of a judge call; ``who`` counts the tokens. A call
    shows a group in a single order.
    """
    received = answers.received
    if not received:
        return [_unanswered(name, answers) for name in ("latency", "tokens", "price")]
    seconds = [one.completion.latency for one in received]
    middle, late = median(seconds), nearest_rank(seconds, 0.95)
    took = {"median_s": round(middle, 3), "p95_s": round(late, 3), "in_flight": in_flight, "answers": len(seconds)}
    sent, got = (
        fmean(getattr(one.completion.usage, kind) for one in received) for kind in ("input_tokens", "output_tokens")
    )
    told = f"{sent:,.0f} in, {got:,.0f} out a group" if sent or got else f"not counted by {who}"
    tokens = Check(
        "tokens", "note" if sent or got else "unknown", told, {"input": round(sent, 1), "output": round(got, 1)}
    )
    slow = f"95th percentile {late:.2f} s" if len(seconds) >= _FEW else f"slowest {late:.2f} s"
    few = "" if len(seconds) >= _FEW else f" ({counted(len(seconds), 'answer')} only)"
    says = f"median {middle:.2f} s, {slow}, at most {in_flight} at a time{few}"
    return [Check("latency", "note", says, took), tokens, _price(received)]


def nearest_rank(values: Sequence[float], share: float) -> float:
    """Return the ``share`` (0-1) quantile of values in any order, for the doctor: the smallest that is not below this
    share of them.

    From half on, it is never below the median. Raises IndexError if there is no value.
    """
    return sorted(values)[max(0, ceil(share * len(values)) - 1)]


def _thinks_aloud(text: str) -> bool:
    """Return whether reasoning precedes the answer in a reply; text inside a JSON object does not count."""
    answer = text.lstrip()
    return answer.startswith("<think>") or ("</think>" in answer and not answer.startswith("{"))


def _price(received: tuple[Answer, ...]) -> Check:
    costs = [one.completion.usage.cost_usd for one in received]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return Check("price", "unknown", "no price is known for this model there", {"usd_per_1000_groups": None})
    thousand = 1000 * fmean(known)
    says = f"${thousand:,.2f} for 1,000 groups of a probe's size, in one order each"
    return Check("price", "note", says, {"usd_per_1000_groups": round(thousand, 6)})


def _unanswered(name: str, answers: Answers) -> Check:
    """Return the check ``name`` as not made, with the reason why there are no answers."""
    if answers.failures:
        return Check(name, "unknown", f"not tested: {answers.failures[0].reason}")
    if answers.received:
        why = answers.received[0].reading.reason or "answers could not be read"
        return Check(name, "unknown", f"not tested: {why}")
    return Check(name, "unknown", "not tested")
