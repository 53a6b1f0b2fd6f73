"""Verdicts to a score, by the name of a formula: pure functions of a rubric and its verdicts.

A verdict is True (met), False, None (unknown) or, for criteria with levels, the share met (0-1). A criterion with 0
points is reported but does not count in any formula. Every formula returns None while another criterion is open (has no
verdict); ``graded`` then applies a policy that the caller names. Sums run over *all* criteria, so that a denominator
does not depend on which verdicts arrived. Nothing is clipped per response unless the formula's source clips.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, Literal, TypeAlias

from calipers.errors import ConfigError
from calipers.rubric.grading import Grading, Normaliser, OnMissing
from calipers.types import Criterion, Rubric, Verdict

Met: TypeAlias = bool | float | None
Verdicts: TypeAlias = Mapping[str, Met]


def healthbench(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Sum of points met over the sum of positive points: at most 1, and below 0 where penalties prevail.

    Source: openai/simple-evals, ``calculate_score``. A rubric of penalties only starts at 1: 1 + points met / sum of
    absolute points, which is in [0, 1].
    """
    shares = _shares(rubric, verdicts)
    if shares is None:
        return None
    earned = math.fsum(criterion.points * share for criterion, share in zip(counting(rubric), shares, strict=True))
    if rubric.all_negative == "from_one":
        return 1 + earned / math.fsum(abs(criterion.points) for criterion in rubric.criteria)
    return earned / _positive(rubric)


def ruscarl_paper(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """The same quotient, negatives included: RuscaRL (arXiv 2508.16949), equation 4, ``healthbench_reward_fn``."""
    return healthbench(rubric, verdicts)


def ruscarl_batch(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """The quotient, clipped per response at 0, as RuscaRL's ``scaleai_batch_reward_fn`` does; in [0, 1].

    All responses below 0 get the same reward, without a gradient between them: for parity with that study only.
    """
    score = healthbench(rubric, verdicts)
    return None if score is None else max(0.0, score)


def rar_explicit(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Weights met over all weights, in [0, 1]: Rubrics as Rewards (arXiv 2507.17746), equation 1.

    Raises ConfigError for negative points: the formula has none (its pitfalls are phrased positively).
    """
    if problem := unsuited(rubric, "rar_explicit"):
        raise ConfigError(problem)
    return healthbench(rubric, verdicts)


def rar_implicit(rating: int, *, scale: Literal["from_one", "tenths"] = "from_one") -> float:
    """A holistic rating from 1 to 10 on [0, 1]: (x - 1) / 9, or x / 10. Raises ValueError for any other number.

    Rubrics as Rewards (arXiv 2507.17746) only states that the rating is normalised, so the formula is a setting.
    """
    if not 1 <= rating <= 10:
        raise ValueError(f"a holistic rating is from 1 to 10, not {rating}")
    return (rating - 1) / 9 if scale == "from_one" else rating / 10


def all_or_nothing(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """1.0 when every criterion is as desired (positive met, negative not met), else 0.0.

    AdvancedIF's headline (arXiv 2511.10507) and VerIF's one bit for all constraints (arXiv 2506.09942), whose criteria
    are all positive. One known violation decides, however many criteria are open.
    """
    desired = [_desired(criterion, verdicts.get(criterion.id)) for criterion in counting(rubric)]
    if any(share is not None and share < 1 for share in desired):
        return 0.0
    return None if None in desired else 1.0


def fraction(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """The share of criteria that are as desired, points aside; in [0, 1].

    The mean of verdicts, as in open-instruct's ``IFEvalVerifier``; a negative criterion counts if it is not met.
    """
    desired = [_desired(criterion, verdicts.get(criterion.id)) for criterion in counting(rubric)]
    known = [share for share in desired if share is not None]
    return math.fsum(known) / len(known) if len(known) == len(desired) else None


NORMALISERS: Final[Mapping[str, Callable[[Rubric, Verdicts], float | None]]] = {
    "healthbench": healthbench,
    "ruscarl_paper": ruscarl_paper,
    "ruscarl_batch": ruscarl_batch,
    "rar_explicit": rar_explicit,
    "all_or_nothing": all_or_nothing,
    "fraction": fraction,
}
"""Formulas over verdicts, by name; ``rar_implicit`` takes a rating instead."""
_UNBOUNDED: Final = ("healthbench", "ruscarl_paper")


@dataclass(frozen=True, slots=True)
class RubricScore:
    """``value``, or None and the ``reason``. ``coverage`` is the share of absolute points with a verdict (0-1).

    ``open`` are the criteria without a verdict, ``vetoed`` those whose violation limited the score, and ``filled``
    means that the value comes from a policy, not from the formula over all criteria.
    """

    value: float | None
    reason: str | None = None
    coverage: float = 1.0
    open: tuple[str, ...] = ()
    vetoed: tuple[str, ...] = ()
    filled: bool = False


def graded(
    rubric: Rubric,
    verdicts: Verdicts,
    *,
    normaliser: Normaliser = "healthbench",
    on_missing: OnMissing = "abstain",
    coverage: float = 0.8,
    floor: float = 0.0,
) -> RubricScore:
    """The score of ``verdicts`` by a named formula; ``on_missing`` is the policy for open criteria.

    ``abstain`` and ``raise`` (the caller raises) give no value; ``partial`` applies the formula to the criteria with a
    verdict, if these have at least ``coverage`` of the weight and no veto is open; ``floor`` gives that constant. A
    violated veto limits the value to ``veto_floor``. Raises ConfigError for an unknown or unsuitable formula.
    """
    if normaliser not in NORMALISERS:
        raise ConfigError(f"no formula over verdicts is called {normaliser!r}; known: {', '.join(NORMALISERS)}")
    formula = NORMALISERS[normaliser]
    missing = [criterion for criterion in counting(rubric) if verdicts.get(criterion.id) is None]
    total = math.fsum(abs(criterion.points) for criterion in rubric.criteria)
    covered = 1 - math.fsum(abs(criterion.points) for criterion in missing) / total
    names = tuple(criterion.id for criterion in missing)
    value = formula(rubric, verdicts)
    if not missing:
        return _with_vetoes(rubric, verdicts, RubricScore(value))
    reason = f"{'criteria' if len(names) > 1 else 'criterion'} without a verdict: {', '.join(names)}"
    nothing = RubricScore(None, reason, covered, names)
    if value is not None and not any(criterion.veto for criterion in missing):
        return _with_vetoes(
            rubric, verdicts, RubricScore(value, None, covered, names)
        )  # no open criterion can change it
    if on_missing == "floor":
        return RubricScore(float(floor), reason, covered, names, filled=True)
    if on_missing == "partial":
        return _partial(rubric, verdicts, nothing, formula, coverage)
    return nothing


def criteria_for_judge(rubric: Rubric, ruled: Mapping[str, Verdict], grading: Grading) -> tuple[Criterion, ...]:
    """The criteria that no rule decides; none if no verdict of a judge could change the score.

    That is the case once the score is settled (a violated constraint under ``all_or_nothing``), and where a rule has no
    verdict and an open criterion leaves a trajectory without a score. Holistic ratings ignore rules.
    """
    if not ruled or grading.mode == "holistic":
        return rubric.criteria
    if settled(rubric, ruled, grading) is not None:
        return ()
    lost = any(criterion.id in ruled and ruled[criterion.id].met is None for criterion in counting(rubric))
    if lost and grading.on_missing in ("abstain", "raise") and grading.formula != "all_or_nothing":
        return ()
    return tuple(criterion for criterion in rubric.criteria if criterion.id not in ruled)


def settled(rubric: Rubric, ruled: Mapping[str, Verdict], grading: Grading) -> float | None:
    """The score that follows from rules alone, whatever the judge decides; None if the judge can change it."""
    if not ruled or grading.mode == "holistic":
        return None
    mets = {name: verdict.met for name, verdict in ruled.items()}
    return graded(rubric, mets, normaliser=grading.formula, on_missing="abstain").value


def unsuited(rubric: Rubric, normaliser: Normaliser) -> str | None:
    """Why the formula does not suit this rubric, and the remedy; None if it does."""
    if normaliser != "rar_explicit" or all(criterion.points > 0 for criterion in counting(rubric)):
        return None
    return (
        "rar_explicit has no negative points: phrase pitfalls positively (read them with pitfalls='positive'), "
        "or choose healthbench"
    )


def counting(rubric: Rubric) -> tuple[Criterion, ...]:
    """The criteria that have points."""
    return tuple(criterion for criterion in rubric.criteria if criterion.points)


def lowest(rubric: Rubric, normaliser: Normaliser) -> float:
    """The least score that the formula can give for this rubric with all verdicts known; the greatest is always 1."""
    if normaliser not in _UNBOUNDED or rubric.all_negative == "from_one":
        least = 0.0
    else:
        penalties = math.fsum(criterion.points for criterion in rubric.criteria if criterion.points < 0)
        least = penalties / _positive(rubric)
    return min(least, rubric.veto_floor) if any(criterion.veto for criterion in rubric.criteria) else least


def _partial(
    rubric: Rubric,
    verdicts: Verdicts,
    nothing: RubricScore,
    formula: Callable[[Rubric, Verdicts], float | None],
    coverage: float,
) -> RubricScore:
    known = tuple(criterion for criterion in counting(rubric) if verdicts.get(criterion.id) is not None)
    problem = None
    if any(criterion.veto and criterion not in known for criterion in rubric.criteria):
        problem = "a veto is open"
    elif nothing.coverage < coverage:
        problem = f"only {nothing.coverage:.0%} of the weight has a verdict, and {coverage:.0%} is required"
    elif rubric.all_negative == "refuse" and not any(criterion.points > 0 for criterion in known):
        problem = "no desired criterion has a verdict"
    if problem is not None:
        return replace(nothing, reason=f"{problem}: {nothing.reason}")
    part = Rubric(known, all_negative=rubric.all_negative, veto_floor=rubric.veto_floor)
    return _with_vetoes(part, verdicts, replace(nothing, value=formula(part, verdicts), filled=True))


def _with_vetoes(rubric: Rubric, verdicts: Verdicts, score: RubricScore) -> RubricScore:
    """``score``, limited if a veto is violated."""
    violated = tuple(
        criterion.id
        for criterion in rubric.criteria
        if criterion.veto and (_desired(criterion, verdicts.get(criterion.id)) or 0.0) < 1
    )
    if not violated or score.value is None:
        return score
    return replace(score, value=min(score.value, rubric.veto_floor), vetoed=violated)


def _desired(criterion: Criterion, met: Met) -> float | None:
    """How far a criterion is as desired (0-1); None while it is open."""
    if met is None:
        return None
    return float(met) if criterion.points > 0 else 1.0 - float(met)


def _shares(rubric: Rubric, verdicts: Verdicts) -> Sequence[float] | None:
    """How far each criterion is met, in the rubric's order; None while one is open."""
    found = [verdicts.get(criterion.id) for criterion in counting(rubric)]
    known = [float(met) for met in found if met is not None]
    return known if len(known) == len(found) else None


def _positive(rubric: Rubric) -> float:
    total = math.fsum(criterion.points for criterion in rubric.criteria if criterion.points > 0)
    if total <= 0:
        raise ConfigError("no criterion has positive points: there is nothing to divide by (see all_negative)")
    return total
