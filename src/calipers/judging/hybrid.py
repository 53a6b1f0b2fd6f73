"""Combines rules that code checks with a judge's score into one reward.

Rules are checked first, because they are free. The judge is asked only about trajectories that passed the gates and
whose rules have verdicts.

VerIF: Peng et al., arXiv 2506.09942. Its paper averages two values in {0, 1}; its code multiplies the share of rules
followed by the judge's bit. These are different rewards, so each has its own name here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.config.arguments import require_one_of
from calipers.errors import ConfigError, without_exit
from calipers.inputs import as_group
from calipers.interfaces import Backend, Verifier
from calipers.judging.judge import Judge, store_of
from calipers.judging.results import group_status, keys_carried_over
from calipers.judging.streaming import stream_groups
from calipers.rewards.reliability import reliability_of
from calipers.rubric import as_rubric
from calipers.rubric.dataset_standards import STANDARDS_KEYS
from calipers.types import GroupResult, Rubric, Scores, Trajectory, TrajectoryGroup, TrajectoryResult, Verdict
from calipers.types.encoding import finite_number
from calipers.verifiers.constraints import Constraints
from calipers.verifiers.rules import TrajectoryVerdicts, check_group

Combine: TypeAlias = Literal["product", "average", "min", "verif_paper", "verif_code"]
Code: TypeAlias = Literal["mean", "all"]
Checks: TypeAlias = Sequence[Verifier] | Callable[[TrajectoryGroup], Constraints | Sequence[Verifier]]

_NAMED_COMBINATIONS: Final[Mapping[str, tuple[Code, Combine]]] = {
    "verif_code": ("mean", "product"),
    "verif_paper": ("all", "average"),
}
"""Combinations that fix how the rules' score is computed, and in which the judge's part is 0 or 1."""

_READ: Final = STANDARDS_KEYS | {"constraints"}
_RUBRIC: Final = (
    "Judge by these requirements only. Each weighs the same, and an answer that satisfies all of them gets the "
    "full score, whatever else could be said about it:\n"
)


class Hybrid:
    """A ``judge`` (a Judge, a judge's name, or several) and ``checks``, combined into a reward from 0 to 1.

    ``checks`` may be verifiers: they check the trajectories of every group, and the judge scores these as well. Or it
    is a function from a group to such verifiers, or to its ``Constraints``. With these, the judge is asked only about
    the soft constraints, and not at all if there are none (unless the constraints say ``judged``).

    ``code`` is the rules' score: the share of rules followed (``"mean"``, the default), or 1 if ``"all"`` are followed,
    else 0. ``combine`` is ``"product"``, ``"average"``, ``"min"``, or one of VerIF's, with the judge's bit:
    ``"verif_paper"`` (1 if all rules are followed, else 0, averaged with the bit) and ``"verif_code"`` (the share of
    rules followed, times the bit). A missing part (no rules,
    or nothing for the judge) is ignored. The bit is 1 if the judge's reward is at least ``threshold`` (0.5 if none is
    given), else 0; with a ``threshold``, the other combinations use the bit as well.

    ``gates`` are checked before any token is spent. A trajectory that fails a gate is not shown to the judge and gets
    ``floor``. If a rule or a gate has no verdict, the trajectory abstains and the judge is not asked about it: a broken
    rule never becomes a reward.

    Raises ConfigError for options that cannot work, before anything is asked.
    """

    def __init__(
        self,
        judge: Judge | str | Backend | Sequence[str | Backend],
        *,
        checks: Checks = (),
        combine: Combine = "product",
        code: Code | None = None,
        threshold: float | None = None,
        gates: Sequence[Verifier] = (),
        floor: float = 0.0,
    ) -> None:
        require_one_of(get_args(Combine), combine=combine)
        if code not in (None, *get_args(Code)):
            raise ConfigError(f"code={code!r}: it must be mean or all")
        if combine in _NAMED_COMBINATIONS and code is not None:
            raise ConfigError(f"combine={combine!r} fixes how rules are counted: leave code= out")
        for name, value in {"threshold": 0.5 if threshold is None else threshold, "floor": floor}.items():
            if (number := finite_number(value)) is None or not 0 <= number <= 1:
                raise ConfigError(f"{name}={value!r}: it must be a number from 0 to 1")
        self._gates, self._floor = _verifiers(gates, f"gates={gates!r:.80}"), float(floor)
        self._checks = without_exit(checks) if callable(checks) else _verifiers(checks, f"checks={checks!r:.80}")
        self._name = getattr(checks, "__qualname__", type(checks).__qualname__)
        self.judge = judge if isinstance(judge, Judge) else Judge(judge)
        reward = self.judge.settings.reward
        if tuple(reward.range) != (0.0, 1.0):
            raise ConfigError("Hybrid combines parts from 0 to 1: leave the judge's reward range at (0, 1)")
        if reward.kind == "weighted":  # a product with a share of rules would mean nothing
            raise ConfigError(
                "Hybrid combines parts from 0 to 1, but with reward='weighted' the judge's rewards may be negative: "
                "leave reward= out"
            )
        self._combine = combine
        self._code, self._how = _NAMED_COMBINATIONS.get(combine, (code or "mean", combine))
        is_named = combine in _NAMED_COMBINATIONS
        self._threshold = 0.5 if is_named and threshold is None else threshold

    def __repr__(self) -> str:
        """Show the judge, how many checks and gates there are, and how they are combined."""
        checks = len(self._checks) if isinstance(self._checks, Sequence) else "by group"
        return f"Hybrid({self.judge!r}, checks={checks}, gates={len(self._gates)}, combine={self._combine!r})"

    async def score_group(self, group: object) -> GroupResult:
        """Judge one group, as ``Judge.score_group`` does. Never raises because of a judge or a rule.

        Each trajectory's ``extra`` has ``checks``: the rules' verdicts, their score, and the judge's reward.
        """
        return await self._begin(as_group(group))

    def _begin(self, group: TrajectoryGroup) -> Coroutine[Any, Any, GroupResult]:
        # Called in input order, before anything is awaited: the first group of the input identifies a run.
        store_of(self.judge, group)
        return self._score(group)

    async def _score(self, given: TrajectoryGroup) -> GroupResult:
        checks = self._checks(given) if callable(self._checks) else self._checks
        if not isinstance(checks, Constraints):
            where = f"checks: {self._name} returned {checks!r:.80} for group {given.group_id!r}"
            checks = Constraints(_verifiers(checks, where), judged=True)
        constraints = checks
        weighs = bool(constraints.soft) or constraints.judged
        # Rules may block, so they run in a thread while other groups are judged.
        checked = await asyncio.to_thread(check_group, given, gates=self._gates, rules=tuple(constraints.rules))
        members = [
            (member, check, rules_score(check.rules, self._code))
            for member, check in zip(given.trajectories, checked, strict=True)
        ]
        opened = [member for member, check, rules in members if check.gate is None and not isinstance(rules, Verdict)]
        judged: GroupResult | None = None
        if weighs and opened:
            rubric = self._rubric(constraints.soft) if constraints.soft else given.rubric
            asked = replace(given, trajectories=tuple(opened), rubric=rubric)
            if callable(self._checks):  # it has read the group's own rules: the judge must not warn that nothing does
                unread = {name: value for name, value in given.extra.items() if name not in _READ}
                asked = replace(asked, extra=unread)
            judged = await self.judge.score_group(asked)
        soft = {} if judged is None else {reward.id: reward for reward in _with_errors_of_rewards(judged.trajectories)}
        results = tuple(
            self._result(member, check, rules, soft.get(member.id), weighs=weighs) for member, check, rules in members
        )
        unasked = len(members) - len(opened) if weighs else 0
        notes = [f"{unasked} of {len(members)} trajectories were not shown to the judge"] if unasked else []
        notes += constraints.skipped
        if given.rubric is not None and (constraints.soft or not weighs):
            notes.append("not used: the group's rubric, beside constraints of its own")
        base = judged or GroupResult(given.group_id, "scored", ())
        basis = None if base.reliability.basis == "unknown" else base.reliability.basis
        values, stderrs = tuple(result.score for result in results), tuple(result.stderr for result in results)
        return replace(
            base,
            status=group_status(results),
            trajectories=results,
            warnings=tuple(dict.fromkeys([*base.warnings, *notes])),
            reliability=reliability_of(Scores(values, stderrs, basis, base.reliability.freedom)),
            extra={**given.extra, **base.extra},
        )

    def score_groups(
        self, groups: Iterable[object] | AsyncIterable[object], *, concurrency: int | None = None, ordered: bool = False
    ) -> AsyncIterator[GroupResult]:
        """Judge many groups and yield results as they finish, or (``ordered``) in input order.

        Raises InputError for a group that cannot be read.
        """
        return stream_groups(groups, self._begin, limit=concurrency or self.judge.concurrency, ordered=ordered)

    def _rubric(self, soft: Sequence[str]) -> str | Rubric:
        """Return the soft constraints as the group's rubric: criteria for a checklist, else text."""
        if self.judge.settings.grading is not None:
            return as_rubric(soft)
        return _RUBRIC + "\n".join(f"- {' '.join(constraint.split())}" for constraint in soft)

    def _result(
        self,
        trajectory: Trajectory,
        checked: TrajectoryVerdicts,
        rules: float | Verdict | None,
        soft: TrajectoryResult | None,
        *,
        weighs: bool,
    ) -> TrajectoryResult:
        gate = checked.gate
        base = soft or TrajectoryResult(trajectory.id, "abstained")  # what else the judge found is copied to the result
        parts = {
            "rules": [{"met": verdict.met, "reason": verdict.reason} for verdict in checked.rules],
            "gate": None if gate is None else {"met": gate.met, "reason": gate.reason},
            "code": None if isinstance(rules, Verdict) else rules,
            "judge": None if soft is None else soft.reward,
        }
        extra = {**keys_carried_over(trajectory), **base.extra, "checks": parts}
        if gate is not None and gate.met is False:
            why = gate.reason or "a gate was not passed"
            return TrajectoryResult(trajectory.id, "scored", self._floor, self._floor, None, why, None, extra)
        unclear = gate or rules
        if isinstance(unclear, Verdict):
            reason = unclear.reason or "a rule or a gate gave no verdict"
            return TrajectoryResult(trajectory.id, "abstained", reason=reason, extra=extra)
        if soft is not None and soft.reward is None:
            return replace(soft, extra=extra)
        reward, stderr = combined_reward(self._how, self._threshold, unclear, base.reward, base.stderr)
        if reward is None or (weighs and soft is None):
            return replace(base, reason="there is nothing to check or to judge", extra=extra)
        broken = "; ".join(verdict.reason for verdict in checked.rules if verdict.met is False and verdict.reason)
        explanation = base.explanation or broken or None
        return replace(
            base, status="scored", reward=reward, score=reward, stderr=stderr, explanation=explanation, extra=extra
        )


def _verifiers(value: object, where: str) -> tuple[Verifier, ...]:
    """Return a list of verifiers, which may be empty, as a tuple. Raises ConfigError for anything else."""
    if isinstance(value, str | Mapping) or not isinstance(value, Iterable):
        raise ConfigError(f"{where}: it must be a list of verifiers, as in [Numeric(42)], or [] for none")
    verifiers = tuple(value)
    for verifier in verifiers:
        if not callable(verifier):
            remedy = "calipers.verifiers.verifier_from makes one from a name"
            raise ConfigError(f"{where}: {verifier!r:.80} is not a verifier; {remedy}")
    return verifiers


def rules_score(verdicts: Sequence[Verdict], code: Code) -> float | Verdict | None:
    """Return the score of the rules' verdicts, for judging by rules and a judge together; None without rules.

    If a rule without a verdict could change the score, returns the verdict of that rule instead.
    """
    mets = [verdict.met for verdict in verdicts]
    if code == "all" and False in mets:
        return 0.0
    if None in mets:
        return verdicts[mets.index(None)]
    return mets.count(True) / len(mets) if mets else None


def combined_reward(
    how: Combine, threshold: float | None, rules: float | None, soft: float | None, stderr: float | None = None
) -> tuple[float | None, float | None]:
    """Return the reward of judging by both: from the rules' score and the judge's reward (``soft``); either may miss.

    Also returns the reward's standard error, or None if it does not follow from that of the judge's reward.
    """
    if soft is not None and threshold is not None:
        soft, stderr = float(soft >= threshold), None
    if rules is None or soft is None:  # a missing part is ignored; counting it as 1 would change averages
        return (soft, stderr) if rules is None else (rules, None)
    if how == "product":
        return rules * soft, None if stderr is None else rules * stderr
    if how == "average":
        return (rules + soft) / 2, None if stderr is None else stderr / 2
    return min(rules, soft), None


def _with_errors_of_rewards(judged: Sequence[TrajectoryResult]) -> Sequence[TrajectoryResult]:
    """Return the judge's part; without standard errors unless its rewards are the scores that the errors are of."""
    if all(
        row.reward is None or row.score is None or math.isclose(row.reward, row.score, abs_tol=1e-9) for row in judged
    ):
        return judged
    return [replace(row, stderr=None) for row in judged]
