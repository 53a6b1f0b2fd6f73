"""How a judge goes about it: where it thinks, what a short limit does to it, whether it repeats itself, how fast it is.

Pure: answers in, checks out. Not responsible for whether its opinions are any good (``opinions``).
"""

from __future__ import annotations

from statistics import fmean, median

from calipers.doctor.diagnosis import Check
from calipers.doctor.opinions import repeats
from calipers.doctor.patient import Answers, Heard
from calipers.types import Completion, Rating

SHORT = 16
"""Output tokens of the question that is meant to be cut: fewer than any verdict on three attempts needs."""


def thinking(answers: Answers) -> Check:
    """Where thoughts are, if there are any."""
    heard = answers.heard
    if not heard:
        return _unanswered("thinking", answers)
    apart = sum(bool(one.completion.reasoning) for one in heard)
    inside = sum(_thinks_aloud(one.completion.text) for one in heard)
    figures = {"apart": apart, "in_text": inside, "answers": len(heard)}
    if inside:
        says = f"inside the text in {inside} of {len(heard)} answers; it is taken out before reading"
        return Check("thinking", "note", says, figures)
    if apart:
        return Check("thinking", "good", f"apart from the text in {apart} of {len(heard)} answers", figures)
    return Check("thinking", "good", "none shown", figures)


def served(answers: Answers) -> Check:
    """Who says it answered: model and version. More than one is told, for their scores may not compare."""
    name = "answers as"
    if not answers.heard:
        return _unanswered(name, answers)
    names = sorted({_served(one.completion) for one in answers.heard})
    if names == [""]:
        return Check(name, "note", "the server does not say which model answers", {"servers": []})
    says = ", ".join(one or "(no name)" for one in names)
    return Check(name, "good" if len(names) == 1 else "note", says, {"servers": names})


def _served(completion: Completion) -> str:
    return " ".join(part for part in (completion.model, completion.fingerprint) if part)


def truncation(answers: Answers) -> Check:
    """Whether a reply that was cut off says so."""
    name = "cut-off replies"
    if not answers.heard:
        return _unanswered(name, answers)
    one = answers.heard[0]
    ended, tokens = one.completion.finish_reason, one.completion.usage.output_tokens
    figures = {"finish_reason": ended, "output_tokens": tokens}
    if ended == "length":
        return Check(name, "good", f"say so (with {SHORT} tokens allowed)", {"behaviour": "said", **figures})
    if one.scores and not one.reading.missing:
        says = f"do not occur: a limit of {SHORT} tokens was not kept"
        return Check(name, "note", says, {"behaviour": "limit ignored", **figures})
    says = f"do not say so: finish reason {ended!r}; a verdict cut short is then known by its form alone"
    return Check(name, "bad", says, {"behaviour": "silent", **figures})


def probabilities(answers: Answers | None) -> Check:
    """Whether scores can be read as means over digits: None means that the judge's API is known to tell no probabilities."""
    name = "probabilities"
    if answers is None:
        return Check(
            name, "note", "its API tells none, so expected=True is not for it", {"told": False, "usable": None}
        )
    if not answers.heard:
        return _unanswered(name, answers)
    ratings = [one for each in answers.heard for one in each.reading.judgments if isinstance(one, Rating)]
    usable = sum(one.spread is not None for one in ratings)
    told = usable > 0 or any(one.completion.logprobs is not None for one in answers.heard)
    figures = {"told": told, "usable": usable, "scores": len(ratings)}
    if not told:
        return Check(name, "note", "none told, so expected=True would read plain digits", figures)
    says = f"told, and of use for {usable} of {len(ratings)} scores" + (
        "" if usable else ": too little lay on the digits"
    )
    return Check(name, "good" if usable and usable == len(ratings) else "note", says, figures)


def repeatability(answers: Answers) -> Check:
    """Whether the same question at temperature 0 gets the same scores."""
    name = "repeatability"
    same, twice, apart = repeats(answers)
    figures = {
        "same": same,
        "asked_twice": twice,
        "largest_difference": round(apart, 4),
        "temperature_refused": "temperature" in answers.refused,
    }
    if not twice:
        return _unanswered(name, answers)
    how = (
        "at its own temperature (it refuses to be given one)" if figures["temperature_refused"] else "at temperature 0"
    )
    says = f"{same} of {twice} questions got the same scores twice {how}"
    if same < twice:
        says += f"; the largest difference is {100 * apart:.0f} of 100 points"
    return Check(name, "good" if same == twice else "note", says, figures)


def speed(answers: Answers, *, in_flight: int) -> list[Check]:
    """Seconds, tokens and price of one call, which is one group in one order."""
    heard = answers.heard
    if not heard:
        return [_unanswered(name, answers) for name in ("latency", "tokens", "price")]
    seconds = sorted(one.completion.latency for one in heard)
    middle, late = median(seconds), seconds[int(0.95 * (len(seconds) - 1))]
    took = {"median_s": round(middle, 3), "p95_s": round(late, 3), "in_flight": in_flight}
    sent, got = (
        fmean(getattr(one.completion.usage, kind) for one in heard) for kind in ("input_tokens", "output_tokens")
    )
    counted = f"{sent:,.0f} in, {got:,.0f} out a group" if sent or got else "not counted by the server"
    tokens = Check(
        "tokens", "note" if sent or got else "unknown", counted, {"input": round(sent, 1), "output": round(got, 1)}
    )
    says = f"{middle:.2f} s in the middle, {late:.2f} s for the slowest twentieth, at most {in_flight} in flight"
    return [Check("latency", "note", says, took), tokens, _price(heard)]


def _thinks_aloud(text: str) -> bool:
    """A thought stands before the answer; the words of a JSON object may say what they like."""
    spoken = text.lstrip()
    return spoken.startswith("<think>") or ("</think>" in spoken and not spoken.startswith("{"))


def _price(heard: tuple[Heard, ...]) -> Check:
    costs = [one.completion.usage.cost_usd for one in heard]
    known = [cost for cost in costs if cost is not None]
    if len(known) < len(costs):
        return Check("price", "unknown", "no price is known for this model there", {"usd_per_1000_groups": None})
    thousand = 1000 * fmean(known)
    says = f"${thousand:,.2f} for 1,000 groups the size of a probe, one order each"
    return Check("price", "note", says, {"usd_per_1000_groups": round(thousand, 6)})


def _unanswered(name: str, answers: Answers) -> Check:
    """What could not be found out, and why."""
    if answers.failures:
        return Check(name, "unknown", f"could not be found out: {answers.failures[0].reason}")
    if answers.heard:
        why = answers.heard[0].reading.reason or "answers could not be read"
        return Check(name, "unknown", f"could not be found out: {why}")
    return Check(name, "unknown", "not looked into")
