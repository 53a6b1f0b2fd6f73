"""The options about questions and calls: what a judge is asked, how it is called, its defence, and its records.

Not responsible for how answers become rewards (``score_options``).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, TypeAlias

from calipers.config.arguments import require_headers, require_params, require_watchers
from calipers.config.flag_values import read_aspects, read_gradings, read_headers, read_params, read_price
from calipers.config.option import (
    DEFENCE,
    LIMITS,
    QUESTION,
    READING,
    THE_JUDGE,
    Group,
    any_value,
    choice,
    flag,
    function,
    number,
    whole_number,
)
from calipers.guard.canary import CANARY_RATE, Canaries
from calipers.interfaces import Watcher
from calipers.rubric import Grading
from calipers.types import Completion, JudgeRequest, OnAttack, Reading

Observer: TypeAlias = Callable[[JudgeRequest, Completion, Reading], None]
"""Called with every request, the judge's answer, and what was read from the answer."""

Pairing: TypeAlias = Literal["all", "pivot", "swiss"]
Reasoning: TypeAlias = Literal["hidden", "shown"]


@dataclass(frozen=True, repr=False)
class Question(Group):
    """What a question to the judge contains, and when a question is repeated."""

    grading: Grading | Mapping[str, Any] | None = any_value(
        None,
        "How a checklist is asked and scored, e.g. mode=relative or on_missing=partial.",
        section=QUESTION,
        metavar="KEY=VALUE",
        many=True,
        reads=read_gradings,
        recorded=True,
        link="rubrics.md#how-it-is-put-to-the-judge",
    )
    aspects: Mapping[str, float] | Sequence[str] | Sequence[tuple[str, float]] | None = any_value(
        None,
        "Listwise: score these aspects separately, e.g. correctness=2; the score is their weighted mean.",
        flag="aspect",
        section=QUESTION,
        metavar="NAME[=WEIGHT]",
        many=True,
        reads=read_aspects,
        recorded=True,
        link="protocols.md#aspects",
    )
    at_once: int | None = whole_number(
        None,
        "Listwise: how many candidates a question may have; larger groups are asked about in overlapping chunks.",
        low=4,
        section=QUESTION,
        unset="all",
        recorded=True,
        link="protocols.md#large-groups",
    )
    pairing: Pairing = choice(
        "all",
        Pairing,
        "Pairwise: compare all pairs (all), only pairs with a fixed candidate (pivot), or neighbours by score (swiss).",
        section=QUESTION,
        recorded=True,
        link="protocols.md#large-groups",
    )
    reasoning: Reasoning = choice(
        "hidden",
        Reasoning,
        "Whether the judge sees the reasoning in trajectories.",
        section=QUESTION,
        recorded=True,
    )
    expected: bool = flag(
        False,
        "Read a score as the mean of the digits that the judge might have written, weighted by their probabilities.",
        section=READING,
        recorded=True,
        link="protocols.md#expected-scores",
    )
    reasks: int = whole_number(
        2, "How many follow-up questions in a row an incomplete answer may cause.", low=0, recorded=True
    )
    absolute: bool = flag(False, "Also ask about a group of one trajectory, for evaluation.", recorded=True)


@dataclass(frozen=True, repr=False)
class Calls(Group):
    """How the judge is called: request parameters, token limits, pace, retries and prices."""

    params: Mapping[str, Any] | None = any_value(
        None,
        "A further request parameter, sent unchanged, e.g. temperature=0. VALUE is JSON or text.",
        check=require_params,
        flag="param",
        named=True,
        section=THE_JUDGE,
        metavar="KEY=VALUE",
        many=True,
        reads=read_params,
        recorded=True,
    )
    max_tokens: int | None = whole_number(
        8192,
        "Token limit of a reply, reasoning included. If a reply is cut off, it is repeated with four times the limit.",
        low=1,
        none=True,
        section=THE_JUDGE,
        recorded=True,
    )
    context_window: int | None = whole_number(
        None,
        "Tokens of question and reply together that the judge can process. In longer groups, the middles of the "
        "longest texts are omitted.",
        low=1,
        section=THE_JUDGE,
        unset="as the server reports",
        link="transcript.md#length",
    )
    headers: Mapping[str, Any] | None = any_value(
        None,
        "A further header of every request, e.g. X-Team=search; in Python a mapping, or one of these by judge name.",
        check=require_headers,
        flag="header",
        section=THE_JUDGE,
        metavar="NAME=VALUE",
        many=True,
        reads=read_headers,
        named=True,
        link="judges.md#servers-of-your-own",
    )
    timeout: float = number(120.0, "Seconds that a call may take.", low=0, above=True, section=LIMITS)
    attempts: int = whole_number(5, "How often a call is attempted if it fails for a reason that may pass.", low=1)
    requests_per_minute: float | None = number(
        None,
        "How many calls may begin in a minute.",
        low=0,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#calls-in-flight",
    )
    tokens_per_minute: float | None = number(
        None,
        "How many tokens may be sent and received in a minute.",
        low=0,
        above=True,
        section=LIMITS,
        link="cost-and-limits.md#calls-in-flight",
    )
    price: Sequence[float] | Mapping[str, Sequence[float]] | None = any_value(
        None,
        "US dollars per million tokens of input, output and cached input, for a judge that the price list lacks.",
        section=LIMITS,
        metavar="IN,OUT[,CACHED]",
        reads=read_price,
        unset="the price list's",
        link="cost-and-limits.md#prices",
    )
    before: Callable[[], Any] | None = function(
        "A function without arguments that is called before judging, e.g. to wake the judge's server.",
        link="judges.md#one-gpu-for-both",
    )
    after: Callable[[], Any] | None = function(
        "A function without arguments that is called when no group is judged any more, e.g. to free the judge's GPU.",
        link="judges.md#one-gpu-for-both",
    )


@dataclass(frozen=True, repr=False)
class Defence(Group):
    """Protection of the judge against prompt injection by trajectories."""

    on_attack: OnAttack = choice(
        "report",
        OnAttack,
        "What happens to a trajectory that certainly addresses the judge: it is reported only, not judged "
        "(quarantine), or gets the lowest reward (floor).",
        section=DEFENCE,
        recorded=True,
        link="hostile.md#what-becomes-of-them",
    )
    canaries: Canaries = choice(
        "off",
        Canaries,
        "Add decoy answers to a share of the questions (sampled) or to all (always), which reveal judges that obey "
        "candidates.",
        section=DEFENCE,
        link="hostile.md#canaries",
    )
    canary_rate: float = number(
        CANARY_RATE,
        "With --canaries sampled: the share of the questions that get a decoy answer.",
        low=0,
        high=1,
        above=True,
        section=DEFENCE,
        recorded=True,
        link="hostile.md#canaries",
    )

    @property
    def share(self) -> float:
        """The share (0-1) of the questions that contain a decoy answer."""
        return {"off": 0.0, "always": 1.0}.get(self.canaries, self.canary_rate)


@dataclass(frozen=True, repr=False)
class Records(Group):
    """What calipers learns from recorded answers, and which functions and objects see new ones."""

    learn: bool = flag(
        True,
        "Learn judges' noise, their position bias and a panel's weights from earlier answers in the ledger.",
        key="experience",
        flag="no-experience",
        off="Do not learn judges' noise, their position bias and a panel's weights from earlier answers in the ledger.",
        section=READING,
        recorded="learns",
        link="protocols.md#what-the-ledger-teaches",
    )
    watchers: Sequence[Watcher] = any_value(
        (),
        "Objects that see every finished group, such as a Monitor, an Auditor or a ReviewQueue.",
        check=require_watchers,
        link="health.md",
    )
    observer: Observer | None = function(
        "A function that is called with (request, completion, reading) for every answer."
    )
    debug: bool = flag(False, "Print every answer, and the judge's reasoning, to stderr.")
