"""What judging or generating will cost: calls, tokens and dollars, counted before any is spent.

A judge's calls are counted by judging the groups with stand-ins, which answer every question well and at once. So the
questions are those of the run. Where their number depends on answers (``resolve``), they are the most that are asked.
"""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Final

from calipers.backends.limits.budget import Amount, Pricing, find_pricing, question_bytes
from calipers.backends.names import name_without_password, split_judge_name
from calipers.backends.providers.known import provider_of
from calipers.config.grouped_options import Criteria, Records
from calipers.config.options import JudgeOptions
from calipers.judging.instances import connect_judges, judges_in
from calipers.judging.judge import Judge
from calipers.protocols.tools import TURNS
from calipers.testing import Noise, SimulatedJudge
from calipers.types import Completion, JudgeRequest, TrajectoryGroup, Usage

BYTES_A_TOKEN: Final = 4.0
"""UTF-8 bytes a token of a question."""
TOKENS_ERROR: Final = 0.2
"""The share by which the estimate of input tokens may be wrong: prose has 4.5 bytes a token, transcripts with JSON 3.4
(o200k, on seven recorded sets and the examples).
"""
REPLY_TOKENS: Final = (30, 60)
"""Assumed tokens of a reply without reasoning: for the whole, and for each candidate or criterion in it."""

_WAVERING: Final = 0.1
"""The noise of a stand-in whose answers make for the most questions, in shares of the scale."""
_NEVER_ENOUGH: Final = 1e-12

FRAME_TOKENS: Final = (4, 3)
"""Tokens that a chat template usually adds: around each message, and before the reply."""


@dataclass(slots=True)
class Spending:
    """What one judge or model will be asked: ``calls``, their tokens, and ``cost_usd`` (None: the price is unknown)."""

    name: str
    calls: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost_usd: float | None = 0.0
    reserved: Amount = field(default_factory=Amount)
    """The most that a budget reserves for a call beyond what the call takes."""

    def add(self, usage: Usage, pricing: Pricing | None, claim: Amount) -> None:
        """Count one more call, for which a budget reserves ``claim``."""
        self.calls += 1
        self.input_tokens += usage.input_tokens
        self.output_tokens += usage.output_tokens
        cost = None if pricing is None else pricing(usage)
        self.cost_usd = None if cost is None or self.cost_usd is None else self.cost_usd + cost
        tokens, usd = claim.tokens - usage.input_tokens - usage.output_tokens, claim.usd - (cost or 0.0)
        self.reserved = Amount(0, max(self.reserved.tokens, tokens), max(self.reserved.usd, usd))


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a command will spend, by judge, for ``groups`` groups or prompts; ``beside`` names what is not counted.

    With ``resolve``, this is the most that it spends.
    """

    groups: int
    spending: tuple[Spending, ...]
    beside: tuple[str, ...] = ()

    def without(self, more: str) -> Estimate:
        """Return this estimate of spending with one more thing that it does not count."""
        return replace(self, beside=(*self.beside, more))

    @property
    def calls(self) -> int:
        """The calls of all judges."""
        return sum(judge.calls for judge in self.spending)

    @property
    def tokens(self) -> int:
        """The tokens of all calls, input and output together."""
        return sum(judge.input_tokens + judge.output_tokens for judge in self.spending)

    @property
    def cost_usd(self) -> float | None:
        """The dollars of all calls; None if the price of any judge is unknown."""
        known = [judge.cost_usd for judge in self.spending if judge.cost_usd is not None]
        return sum(known) if len(known) == len(self.spending) else None


class StandIn(SimulatedJudge):
    """Stands in for a judge at ``endpoint``: answers at once, and counts in ``spending`` what the judge would take."""

    has_tools = True

    def __init__(
        self, name: str, endpoint: str, model: str, *, pricing: Pricing | None, reply: int | None, wavers: bool = False
    ) -> None:
        if wavers:
            super().__init__(_middling_quality, Noise(_WAVERING), model=model)
        else:
            super().__init__(_some_quality, model=model)
        self.endpoint = endpoint
        self.spending = Spending(name)
        self._pricing = pricing
        self._reply = reply

    async def complete(self, request: JudgeRequest) -> Completion:
        """Return an answer that can be read, with the estimated usage of the real one."""
        completion = await super().complete(request)
        whole, per_candidate = REPLY_TOKENS
        reply = self._reply or min(whole + per_candidate * max(1, len(request.keys)), request.max_tokens or math.inf)
        usage = Usage(round(question_bytes(request) / BYTES_A_TOKEN), int(reply))
        self.spending.add(usage, self._pricing, Amount.at_most(request, self._pricing))
        return replace(completion, usage=usage)


def _some_quality(group_id: str, trajectory_id: str) -> float:
    """Return an opinion on a trajectory that differs between siblings, so that no reply is a tie, and is far from 0, so
    that no score is in doubt.
    """
    digest = hashlib.blake2s(f"{group_id}\x1f{trajectory_id}".encode(), digest_size=4).digest()
    return 0.25 + 0.75 * int.from_bytes(digest) / 2**32


def _middling_quality(group_id: str, trajectory_id: str) -> float:
    """Return such an opinion far from the ends of the scale, so that no lead is as large as can be."""
    return 0.25 + _some_quality(group_id, trajectory_id) / 2


async def estimate_judging(
    arguments: Mapping[str, Any],
    groups: Iterable[TrajectoryGroup] | Callable[[Judge], Iterable[TrajectoryGroup]],
    *,
    reply_tokens: int | None = None,
) -> Estimate:
    """Return what a Judge with ``arguments`` will be asked about ``groups``, and its cost. Nothing is sent.

    ``groups`` may be a function of the Judge that is asked instead, for groups that depend on its settings.
    ``reply_tokens`` is what a reply takes, reasoning included, if that is known. Judges that run in this process cost
    nothing and are not counted. Raises ConfigError for arguments that cannot work; a key is not needed.
    """
    options = JudgeOptions(**arguments)
    Judge(**_without_limits(arguments, options, _stand_ins(options, None)[1]))  # raises for what cannot work
    resolves = options.resolve is not None
    stand_ins, judges = _stand_ins(options, reply_tokens, waver=resolves)
    adjusted = _without_limits(arguments, options, judges)
    if resolves:
        adjusted["resolve"] = replace(options.resolve, tolerance=_NEVER_ENOUGH)  # type: ignore[type-var] # likewise
    judge = Judge(**adjusted)
    count = 0
    async for _ in judge.score_groups(groups(judge) if callable(groups) else groups):
        count += 1
    return Estimate(count, tuple(stand_in.spending for stand_in in stand_ins), tuple(_beside(options, judge)))


def estimate_generating(
    name: str,
    endpoint: str,
    prompts: Sequence[JudgeRequest],
    *,
    tokens: int,
    price: Sequence[float] | None = None,
) -> Spending:
    """Return what generating a response of ``tokens`` to each of ``prompts`` takes, the chat template included."""
    spending = Spending(name)
    pricing = find_pricing(endpoint, name.partition("/")[2] or name, price=price)
    per_message, before = FRAME_TOKENS
    for request in prompts:
        frame = per_message * len(request.messages) + before
        spending.add(Usage(round(question_bytes(request) / BYTES_A_TOKEN) + frame, tokens), pricing, Amount())
    return spending


def _stand_ins(options: JudgeOptions, reply: int | None, *, waver: bool = False) -> tuple[list[StandIn], list[Any]]:
    """Return the stand-ins for judges behind a server, and all judges in their order with these stand-ins."""
    names = judges_in(options.judge)
    keys = {name: "none" for name in names if isinstance(name, str) and provider_of(split_judge_name(name)[0])}
    asked = replace(options, api_key=keys or None, budget=None, ledger=None, criteria=Criteria())
    stand_ins: list[StandIn] = []
    judges: list[Any] = []
    prices = options.calls.price  # type: ignore[union-attr] # JudgeOptions made it a Calls
    for name, instance in zip(names, connect_judges(names, asked, asked.calls), strict=True):  # type: ignore[arg-type]
        bare = instance.bare
        if not bare.endpoint.startswith(("http://", "https://")):
            judges.append(name)
            continue
        price = prices.get(str(name)) if isinstance(prices, Mapping) else prices
        pricing = find_pricing(bare.endpoint, bare.model, price=price)
        shown = name_without_password(name) if isinstance(name, str) else instance.name
        stand_ins.append(StandIn(shown, bare.endpoint, bare.model, pricing=pricing, reply=reply, wavers=waver))
        judges.append(stand_ins[-1])
    return stand_ins, judges


def _without_limits(arguments: Mapping[str, Any], options: JudgeOptions, judges: list[Any]) -> dict[str, Any]:
    """Return the arguments of the Judge that is asked instead: no address, no limit, no ledger, nothing learned."""
    calls = replace(
        options.calls,  # type: ignore[type-var]  # JudgeOptions made it a Calls
        price=None, headers=None, before=None, after=None, requests_per_minute=None,
    )  # fmt: skip
    changed: dict[str, Any] = dict.fromkeys(("base_url", "api_key", "budget", "ledger", "deadline"))
    return {
        **arguments, **changed, "judge": judges if len(judges) > 1 else judges[0], "calls": calls,
        "criteria": Criteria(), "records": Records(learn=False),
    }  # fmt: skip


def _beside(options: JudgeOptions, judge: Judge) -> Iterable[str]:
    """Yield what a run may take besides what is counted, or less of, because it depends on answers."""
    yield "calls that are repeated because they fail or cannot be read"
    if options.resolve is not None:
        yield "presentations that resolve may save"
    if options.criteria.mode != "off":  # type: ignore[union-attr] # JudgeOptions made it a Criteria
        yield "criteria that a model writes: a call for each prompt, and longer questions"
    if judge.settings.tools.names:
        yield f"tools: each turn in which the judge calls one is a further call, up to {TURNS}"
