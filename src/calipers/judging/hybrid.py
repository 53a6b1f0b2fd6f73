"""Combines rules that code checks with a judge's score into one reward.

Rules are checked first, because they are free. The judge is asked only if it can still change the reward, and only
about trajectories that passed the gates.

VerIF: Peng et al., arXiv 2506.09942. Its paper averages two values in {0, 1}; its code multiplies the share of rules
followed by the judge's bit. These are different rewards, so each has its own name here.
"""

from __future__ import annotations

import asyncio
import math
from collections.abc import AsyncIterable, AsyncIterator, Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import aclosing
from dataclasses import dataclass, replace
from typing import Any, Final, Literal, TypeAlias, get_args

from calipers.config.arguments import require_one_of
from calipers.errors import ConfigError
from calipers.inputs import as_group
from calipers.interfaces import Backend, Verifier
from calipers.judging.judge import Judge
from calipers.judging.preparing import Prepare
from calipers.judging.results import group_status, keys_carried_over
from calipers.judging.streaming import readable_groups, stream_results
from calipers.rewards.reliability import reliability_of
from calipers.rubric import as_rubric
from calipers.rubric.dataset_standards import STANDARDS_KEYS
from calipers.types import (
    GroupResult,
    Reliability,
    Rubric,
    Scores,
    Trajectory,
    TrajectoryGroup,
    TrajectoryResult,
    Verdict,
)
from calipers.verifiers.constraints import Constraints
from calipers.verifiers.group_checks import TrajectoryVerdicts, check_group

Combine: TypeAlias = Literal["product", "average", "min", "all", "verif_paper", "verif_code"]
Code: TypeAlias = Literal["mean", "all"]
Checks: TypeAlias = Sequence[Verifier] | Callable[[TrajectoryGroup], Constraints]

_NAMED_COMBINATIONS: Final[Mapping[str, tuple[Code, Literal["product", "average", "min"]]]] = {
    "all": ("all", "min"),  # the minimum of two values in {0, 1}
    "verif_code": ("mean", "product"),
    "verif_paper": ("all", "average"),
}
"""Combinations that fix how the rules' score is computed, and in which the judge's part is 0 or 1."""


@dataclass(frozen=True, slots=True)
class Combination:
    """How a trajectory's reward (0-1) is computed from its rules' verdicts and the judge's reward. Pure."""

    code: Code
    how: Literal["product", "average", "min"]
    threshold: float | None

    def rules_score(self, verdicts: Sequence[Verdict]) -> float | Verdict | None:
        """Return the score of the rules' verdicts, for judging by rules and a judge together; None without rules.

        If a rule without a verdict could change the score, returns the verdict of that rule instead.
        """
        mets = [verdict.met for verdict in verdicts]
        if self.code == "all" and False in mets:
            return 0.0
        if None in mets:
            return verdicts[mets.index(None)]
        return mets.count(True) / len(mets) if mets else None

    def combined_reward(
        self, rules: float | None, soft: float | None, stderr: float | None = None
    ) -> tuple[float | None, float | None]:
        """Return the reward of judging by both: from the rules' score and the judge's reward (``soft``).

        Either may be missing. Also returns the reward's standard error, or None if it does not follow from that of the
        judge's reward.
        """
        if soft is not None and self.threshold is not None:
            soft, stderr = float(soft >= self.threshold), None
        if rules is None or soft is None:  # a missing part is ignored; counting it as 1 would change averages
            return (soft, stderr) if rules is None else (rules, None)
        match self.how:
            case "product":
                return rules * soft, None if stderr is None else rules * stderr
            case "average":
                return (rules + soft) / 2, None if stderr is None else stderr / 2
            case "min":
                return min(rules, soft), None


class Hybrid:
    """A ``judge`` (a Judge, a judge's name, or several) and ``checks``, combined into a reward from 0 to 1.

    ``checks`` may be verifiers: they check the trajectories of every group, and the judge scores these as well. Or it
    is a function from a group to its ``Constraints``. The judge is then asked only about the soft constraints, and not
    at all if there are none (unless the constraints say ``judged``).

    ``code`` is the rules' score: the share of rules followed (``"mean"``, the default), or 1 if ``"all"`` are followed,
    else 0. ``combine`` is ``"product"``, ``"average"``, ``"min"``, ``"all"`` (1 if all rules are followed and the
    judge's bit is 1, else 0), or one of VerIF's: ``"verif_paper"`` (1 if all rules are followed, else 0, averaged with
    the judge's bit), ``"verif_code"`` (the share of rules followed, times the judge's bit). A missing part (no rules,
    or nothing for the judge) is ignored. The judge's bit is 1 if its reward is at least ``threshold`` (0.5 if none is
    given), else 0; with a ``threshold``, the other combinations use the bit as well.

    ``gates`` are checked before any token is spent. A trajectory that fails a gate is not shown to the judge and gets
    ``floor``; with ``cap`` it is judged with the others and gets at most ``cap``. If a rule or a gate has no verdict,
    the trajectory abstains and the judge is not asked about it: a broken rule never becomes a reward.

    With ``only_open`` the judge is asked only about groups whose rules give no two trajectories different rewards; the
    rewards of the other groups are those of the rules.

    Raises ConfigError for options that cannot work, before anything is asked.
    """

    def __init__(  # noqa: PLR0913 - constructor arguments are the configuration
        self,
        judge: Judge | str | Backend | Sequence[str | Backend],
        *,
        checks: Checks = (),
        combine: Combine = "product",
        code: Code | None = None,
        threshold: float | None = None,
        gates: Sequence[Verifier] = (),
        floor: float = 0.0,
        cap: float | None = None,
        only_open: bool = False,
    ) -> None:
        require_one_of(get_args(Combine), combine=combine)
        if code not in (None, *get_args(Code)):
            raise ConfigError(f"code={code!r}: it must be mean or all")
        if combine in _NAMED_COMBINATIONS and code is not None:
            raise ConfigError(f"combine={combine!r} fixes how rules are counted: leave code= out")
        _require_shares(threshold=threshold, floor=floor, cap=cap)
        if not isinstance(gates, Sequence):
            raise ConfigError(f"gates={gates!r}: it must be a list of verifiers")
        _require_verifiers(*gates, *(checks if isinstance(checks, Sequence) else (checks,)))
        self.judge = judge if isinstance(judge, Judge) else Judge(judge)
        if tuple(self.judge.settings.reward.range) != (0.0, 1.0):
            raise ConfigError("Hybrid combines parts from 0 to 1: leave the judge's reward range at (0, 1)")
        _require_no_standard_scores(self.judge)
        if combine in _NAMED_COMBINATIONS:
            of_rules, how = _NAMED_COMBINATIONS[combine]
            self._combination = Combination(of_rules, how, 0.5 if threshold is None else threshold)
        else:
            assert combine in ("product", "average", "min")  # noqa: S101 - the others are readings
            self._combination = Combination(code or "mean", combine, threshold)
        self._checks = checks
        self._gates = tuple(gates)
        self._floor = float(floor)
        self._cap = cap
        self._only_open = _require_flag(only_open)
        self._combine = combine

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
        self.judge.begin_run_with(group)
        return self._score(group)

    async def _score(self, given: TrajectoryGroup) -> GroupResult:
        constraints = Constraints(tuple(self._checks)) if isinstance(self._checks, Sequence) else self._checks(given)
        weighs = isinstance(self._checks, Sequence) or bool(constraints.soft) or constraints.judged
        # Rules may block, so they run in a thread while other groups are judged.
        checked = await asyncio.to_thread(check_group, given, gates=self._gates, rules=tuple(constraints.rules))
        decided = weighs and self._only_open and self._rules_decide(checked)
        weighs = weighs and not decided
        opened = [one for one, of in zip(given.trajectories, checked, strict=True) if self._is_open(of)]
        judged: GroupResult | None = None
        if weighs and opened:
            rubric = self._rubric(constraints.soft) if constraints.soft else given.rubric
            # This class checks the rules, so the judge must not warn that it ignores them.
            extra = {
                key: item for key, item in given.extra.items() if key not in STANDARDS_KEYS and key != "constraints"
            }
            judged = await self.judge.score_group(
                replace(given, trajectories=tuple(opened), rubric=rubric, extra=extra)
            )
        soft = {} if judged is None else {one.id: one for one in _with_errors_of_rewards(judged.trajectories)}
        results = tuple(
            self._result(trajectory, of, soft.get(trajectory.id), weighs=weighs)
            for trajectory, of in zip(given.trajectories, checked, strict=True)
        )
        unasked = len(checked) - len(opened) if weighs else 0
        note = [f"{unasked} of {len(checked)} trajectories were not shown to the judge"] if unasked else []
        note += [_DECIDED] if decided else []
        note += constraints.skipped
        if given.rubric is not None and (constraints.soft or not weighs):
            note.append("not used: the group's rubric, beside constraints of its own")
        base = judged or GroupResult(given.group_id, "scored", ())
        return replace(
            base,
            status=group_status(results),
            trajectories=results,
            warnings=tuple(dict.fromkeys([*base.warnings, *note])),
            reliability=_reliability(results, base.reliability),
            extra={**given.extra, **base.extra},
        )

    def preparing(self, head: TrajectoryGroup) -> Prepare:
        """Return a function that prepares each trajectory for judging, as ``Judge.preparing`` does."""
        return self.judge.preparing(head)

    async def score_groups(
        self, groups: Iterable[object] | AsyncIterable[object], *, concurrency: int | None = None, ordered: bool = False
    ) -> AsyncIterator[GroupResult]:
        """Judge many groups and yield results as they finish, or (``ordered``) in input order.

        Raises InputError for a group that cannot be read.
        """
        limit = concurrency or self.judge.concurrency
        readable = readable_groups(groups, None)
        work = stream_results(readable, self._begin, limit=limit, ordered=ordered)
        async with aclosing(work):
            async for result in work:
                yield result

    def _rubric(self, soft: Sequence[str]) -> str | Rubric:
        """Return the soft constraints as the group's rubric: criteria for a checklist, else text."""
        return _constraints_as_rubric(soft) if self.judge.settings.grading is None else as_rubric(soft)

    def _rules_decide(self, checked: Sequence[TrajectoryVerdicts]) -> bool:
        """Whether the rules alone give two trajectories different rewards."""
        found: set[float] = set()
        for one in checked:
            rules = self._combination.rules_score(one.rules)
            if one.gate is not None and one.gate.met is False and self._cap is None:
                found.add(self._floor)
            elif isinstance(rules, float | int) and (one.gate is None or one.gate.met is not None):
                found.add(float(rules) if one.gate is None or self._cap is None else min(float(rules), self._cap))
        return len(found) > 1

    def _is_open(self, checked: TrajectoryVerdicts) -> bool:
        """Whether the judge's answer can still change the trajectory's reward."""
        if checked.gate is not None and (checked.gate.met is None or self._cap is None):
            return False
        return not isinstance(self._combination.rules_score(checked.rules), Verdict)

    def _result(
        self, trajectory: Trajectory, checked: TrajectoryVerdicts, soft: TrajectoryResult | None, *, weighs: bool
    ) -> TrajectoryResult:
        gate, rules = checked.gate, self._combination.rules_score(checked.rules)
        base = soft or TrajectoryResult(trajectory.id, "abstained")  # what else the judge found is copied to the result
        extra = {**keys_carried_over(trajectory), **base.extra, "checks": _reward_parts(checked, rules, soft)}
        if gate is not None and gate.met is False and self._cap is None:
            why = gate.reason or "a gate was not passed"
            return TrajectoryResult(trajectory.id, "scored", self._floor, self._floor, None, why, None, extra)
        for unclear in (gate, rules):
            if isinstance(unclear, Verdict) and unclear.met is None:
                return TrajectoryResult(trajectory.id, "abstained", reason=unclear.reason or _CANNOT_TELL, extra=extra)
        if soft is not None and soft.reward is None:
            return replace(soft, extra=extra)
        assert not isinstance(rules, Verdict)  # noqa: S101 - looked at above
        reward, stderr = self._combination.combined_reward(rules, base.reward, base.stderr)
        if reward is None or (weighs and soft is None):
            return replace(base, reason="there is nothing to check or to judge", extra=extra)
        if gate is not None and self._cap is not None and reward > self._cap:
            reward, stderr = float(self._cap), None
        explanation = base.explanation or _broken_rules(checked)
        return replace(
            base, status="scored", reward=reward, score=reward, stderr=stderr, explanation=explanation, extra=extra
        )


def _with_errors_of_rewards(judged: Sequence[TrajectoryResult]) -> Sequence[TrajectoryResult]:
    """Return the judge's part; without standard errors unless its rewards are the scores that the errors are of."""
    if all(
        one.reward is None or one.score is None or math.isclose(one.reward, one.score, abs_tol=_ROUNDING)
        for one in judged
    ):
        return judged
    return [replace(one, stderr=None) for one in judged]


def _reliability(results: Sequence[TrajectoryResult], judged: Reliability) -> Reliability:
    """Return the reliability of rewards that combine rules with the judge's scores; unknown if any error is."""
    basis = None if judged.basis == "unknown" else judged.basis
    values, stderrs = tuple(one.score for one in results), tuple(one.stderr for one in results)
    return reliability_of(Scores(values, stderrs, basis, judged.freedom))


def _require_no_standard_scores(judge: Judge) -> None:
    """Raise ConfigError if the judge's rewards are around 0, where a product with a share of rules means nothing."""
    if judge.settings.reward.kind == "weighted":
        raise ConfigError(
            "Hybrid combines parts from 0 to 1, and the judge's rewards are around 0 with reward='weighted': leave it "
            "out"
        )


_ROUNDING: Final = 1e-9
_DECIDED = "the rules tell the trajectories apart, so no judge was asked: only_open"
_CANNOT_TELL = "a rule or a gate gave no verdict"


def _constraints_as_rubric(soft: Sequence[str]) -> str:
    """Return a group's soft constraints as a rubric that replaces the judge's own."""
    listed = "\n".join(f"- {' '.join(constraint.split())}" for constraint in soft)
    return (
        "Judge by these requirements only. Each weighs the same, and an answer that satisfies all of them gets the "
        f"full score, whatever else could be said about it:\n{listed}"
    )


def _reward_parts(
    checked: TrajectoryVerdicts, rules: float | Verdict | None, soft: TrajectoryResult | None
) -> dict[str, Any]:
    """Return the parts of a trajectory's reward as an object of the result file."""
    return {
        "rules": [{"met": verdict.met, "reason": verdict.reason} for verdict in checked.rules],
        "gate": None if checked.gate is None else {"met": checked.gate.met, "reason": checked.gate.reason},
        "code": None if isinstance(rules, Verdict) else rules,
        "judge": None if soft is None else soft.reward,
    }


def _broken_rules(checked: TrajectoryVerdicts) -> str | None:
    """Return why a trajectory broke rules, as its explanation if the judge gives none."""
    return "; ".join(verdict.reason for verdict in checked.rules if verdict.met is False and verdict.reason) or None


def _require_shares(**values: float | None) -> None:
    for name, value in values.items():
        number = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (number and 0 <= value <= 1):
            raise ConfigError(f"{name}={value!r}: it must be a number from 0 to 1")


def _require_verifiers(*verifiers: object) -> None:
    for verifier in verifiers:
        if not callable(verifier):
            raise ConfigError(f"{verifier!r} is not a verifier; calipers.verifiers.verifier_from makes one from a name")


def _require_flag(only_open: object) -> bool:
    """Return the option of judging by rules and a judge. Raises ConfigError unless it is True or False."""
    if not isinstance(only_open, bool):
        raise ConfigError(f"only_open={only_open!r}: it must be true or false")
    return only_open
