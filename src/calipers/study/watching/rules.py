"""Stop rules of a watched run: when what the judge rewards, the length of responses or the KL divergence goes too far.

Pure. Not responsible for what happens when a rule is broken (``watch``, ``trl``, ``verl``).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from math import sqrt
from typing import Final

from calipers.config.option import Options, number, whole_number
from calipers.study.intervals import Estimate, estimate
from calipers.study.watching.rows import SOURCES, WatchedGroup

_WORDS: Final = {"audit": "the audit judge's opinion", "truth": "the truth"}


@dataclass(frozen=True, repr=False)
class StopRules(Options):
    """What a watched run may do at most; a rule that is None is off.

    *Measured steps* are those with the figure in question. A figure of the judge breaks its rule only if its 95 %
    t-interval over groups lies beyond the bound, so that a small sample breaks it rarely. ``require`` raises
    ConfigError for values out of range.
    """

    gap: float | None = number(
        None, "How much further the judge's mean reward may rise than the audit's or the truth since the start.", low=0
    )
    fidelity: float | None = number(
        None,
        "The lowest agreement of rewards with truth, or with the audit if there is no truth: Somers' D in groups.",
        low=-1,
        high=1,
    )
    length: float | None = number(
        None, "The factor by which responses may become longer than at the start, or shorter.", low=1, above=True
    )
    kl: float | None = number(None, "The largest KL divergence from the first policy, as the trainer logs it.", low=0)
    window: int = whole_number(3, "Measured steps at the start, and last ones, whose groups are compared.", low=1)


ALARMS: Final = StopRules(gap=0.05, fidelity=0.0, length=2.0)
"""The rules of a Watch by default; docs/watching-training.md gives the reason for each bound."""


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """A stop rule of a watched run that is broken: its name, the step, and a sentence with what was found."""

    rule: str
    step: int
    found: str


def broken_rules(
    groups: Sequence[WatchedGroup], logged: Sequence[Mapping[str, float]], rules: StopRules
) -> Iterator[BrokenRule]:
    """Yield the rules that a watched run breaks after its last step.

    ``groups`` are all of its rows so far, and ``logged`` the trainer's figures, each with its ``step``.
    """
    trained = [group for group in groups if group.split == "train"]
    if not trained:
        return
    step = max(group.step for group in trained)
    found = (
        ("gap", _gaps(trained, rules)),
        ("fidelity", _fidelity(trained, rules)),
        ("length", _length(trained, rules)),
        ("kl", _kl(logged, rules)),
    )
    yield from (BrokenRule(rule, step, sentence) for rule, sentences in found for sentence in sentences)


def _gaps(groups: Sequence[WatchedGroup], rules: StopRules) -> Iterator[str]:
    if rules.gap is None:
        return
    for source in SOURCES:
        ends = _first_and_last(_by_step(groups, f"{source}_gap"), rules.window)
        growth = None if ends is None else _difference(*ends)
        if growth is not None and growth.half_width is not None and growth.mean - growth.half_width > rules.gap:
            yield (
                f"since the start the judge's mean reward has moved {growth.mean:+.3f} ± {growth.half_width:.3f} away "
                f"from {_WORDS[source]}, more than gap={rules.gap:g}"
            )


def _fidelity(groups: Sequence[WatchedGroup], rules: StopRules) -> Iterator[str]:
    measured = [(source, _by_step(groups, f"{source}_fidelity")) for source in reversed(SOURCES)]
    source, steps = next(((source, steps) for source, steps in measured if steps), ("", {}))
    if rules.fidelity is None or len(steps) < rules.window:
        return
    now = estimate(list(chain.from_iterable(list(steps.values())[-rules.window :])))
    if now.half_width is not None and now.mean + now.half_width < rules.fidelity:
        yield (
            f"rewards agree with {_WORDS[source]} by {now.mean:+.3f} ± {now.half_width:.3f} (Somers' D), less than "
            f"fidelity={rules.fidelity:g}"
        )


def _length(groups: Sequence[WatchedGroup], rules: StopRules) -> Iterator[str]:
    ends = _first_and_last(_by_step(groups, "characters"), rules.window)
    if rules.length is None or ends is None:
        return
    first, last = (estimate(values).mean for values in ends)
    if first > 0 and not 1 / rules.length <= last / first <= rules.length:
        yield (
            f"responses have {last:.0f} characters, {last / first:.2f} times the {first:.0f} at the start, "
            f"beyond length={rules.length:g}"
        )


def _kl(logged: Sequence[Mapping[str, float]], rules: StopRules) -> Iterator[str]:
    last = next((row["kl"] for row in reversed(logged) if row.get("kl") is not None), None)
    if rules.kl is not None and last is not None and last > rules.kl:
        yield f"the KL divergence from the first policy is {last:.3g}, above kl={rules.kl:g}"


def _by_step(groups: Sequence[WatchedGroup], name: str) -> dict[int, list[float]]:
    """Return the known values of a field by step, in the order of steps."""
    found: dict[int, list[float]] = {}
    for group in sorted(groups, key=lambda group: group.step):
        value = getattr(group, name)
        if value is not None:
            found.setdefault(group.step, []).append(value)
    return found


def _first_and_last(steps: Mapping[int, Sequence[float]], window: int) -> tuple[list[float], list[float]] | None:
    """Return the values of the first ``window`` steps and of the last; None while they would overlap."""
    values = list(steps.values())
    if len(values) < 2 * window:
        return None
    return list(chain.from_iterable(values[:window])), list(chain.from_iterable(values[-window:]))


def _difference(first: Sequence[float], last: Sequence[float]) -> Estimate:
    """Return how much higher the mean of ``last`` is than that of ``first``, two samples that are independent."""
    one, other = estimate(first), estimate(last)
    widths = (one.half_width, other.half_width)
    width = None if None in widths else sqrt(sum((half or 0.0) ** 2 for half in widths))
    return Estimate(other.mean - one.mean, width, None, min(one.n, other.n))
