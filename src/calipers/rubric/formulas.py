"""Formulas that turn verdicts on criteria into a score: pure functions of a rubric and its verdicts.

A verdict is True (met), False (not met), None (unknown) or, of several verdicts, the share that says met (0-1). A
criterion with 0 points is reported but does not count in any formula. A criterion without a verdict is *open*. While a
criterion is open that can change the value, a formula returns None, and ``graded`` applies the policy that the caller
names: with ``partial``, the sums run over the criteria with a verdict, otherwise over all. No formula clips scores per
response unless its source does.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Final, TypeAlias

from calipers.errors import ConfigError
from calipers.rubric.grading import Grading, Normaliser
from calipers.types import Criterion, Rubric, Verdict

Met: TypeAlias = bool | float | None
Verdicts: TypeAlias = Mapping[str, Met]


def healthbench(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Return HealthBench's score: a rubric's points met divided by all positive points.

    It is at most 1, and below 0 if penalties prevail. Sources: openai/simple-evals, ``calculate_score``; RuscaRL (arXiv
    2508.16949), equation 4. For a rubric of penalties only, the score is 1 + points met / sum of absolute points, which
    is in [0, 1].
    """
    counted = criteria_with_points(rubric)
    if any(verdicts.get(criterion.id) is None for criterion in counted):
        return None
    earned = math.fsum(criterion.points * float(verdicts[criterion.id] or 0) for criterion in counted)
    if rubric.all_negative == "from_one":
        return 1 + earned / math.fsum(abs(item.points) for item in counted)
    return earned / _positive_points(rubric)


def ruscarl_batch(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Return the HealthBench score, clipped per response to [0, 1], as RuscaRL's ``scaleai_batch_reward_fn`` does.

    All responses below 0 get the same reward, without a gradient between them. Use it only to reproduce that study.
    """
    score = healthbench(rubric, verdicts)
    return None if score is None else max(0.0, score)


def rar_explicit(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Return a rubric's weights met divided by all weights: Rubrics as Rewards (arXiv 2507.17746), equation 1.

    Raises ConfigError for negative points: the formula has none (its pitfalls are phrased positively).
    """
    if problem := why_unsuitable(rubric, "rar_explicit"):
        raise ConfigError(problem)
    return healthbench(rubric, verdicts)


def all_or_nothing(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Return 1.0 if every criterion of a rubric is as desired (positive met, negative not met), otherwise 0.0.

    This is AdvancedIF's main metric (arXiv 2511.10507) and VerIF's single bit for all constraints (arXiv 2506.09942).
    A single known violation gives 0.0, however many criteria are open.
    """
    shares = _shares_as_desired(rubric, verdicts)
    if any(share is not None and share < 1 for share in shares):
        return 0.0
    return None if None in shares else 1.0


def fraction(rubric: Rubric, verdicts: Verdicts) -> float | None:
    """Return the share of a rubric's criteria that are as desired, without regard to points; in [0, 1].

    It is the mean of verdicts, as in open-instruct's ``IFEvalVerifier``. A negative criterion counts if it is not met.
    """
    shares = _shares_as_desired(rubric, verdicts)
    known = [share for share in shares if share is not None]
    return math.fsum(known) / len(known) if len(known) == len(shares) else None


NORMALISERS: Final[Mapping[str, Callable[[Rubric, Verdicts], float | None]]] = {
    "healthbench": healthbench,
    "ruscarl_batch": ruscarl_batch,
    "rar_explicit": rar_explicit,
    "all_or_nothing": all_or_nothing,
    "fraction": fraction,
}
"""Formulas that compute a score from verdicts, by name."""


def graded(rubric: Rubric, verdicts: Verdicts, grading: Grading) -> float | None:
    """Return the score of a rubric's ``verdicts`` by the formula and the policy that ``grading`` names; None without.

    If criteria have no verdict, there is no score, or with ``on_missing="partial"`` the formula is applied to the other
    criteria, if these have at least ``coverage`` of the weight and every veto has a verdict. A violated veto limits the
    score to ``veto_floor``. Raises ConfigError for a rubric that does not suit the formula.
    """
    score = _settled_score(rubric, verdicts, grading.normaliser)
    if score is not None or grading.on_missing != "partial":
        return score
    counted = criteria_with_points(rubric)
    missing = [criterion for criterion in counted if verdicts.get(criterion.id) is None]
    known = tuple(criterion for criterion in counted if criterion not in missing)
    covered = 1 - math.fsum(abs(item.points) for item in missing) / math.fsum(abs(item.points) for item in counted)
    has_desired = rubric.all_negative != "refuse" or any(criterion.points > 0 for criterion in known)
    if any(criterion.veto for criterion in missing) or covered < grading.coverage or not has_desired:
        return None
    return _settled_score(replace(rubric, criteria=known), verdicts, grading.normaliser)


def _settled_score(rubric: Rubric, verdicts: Verdicts, normaliser: Normaliser) -> float | None:
    """Return the score that no criterion without a verdict can change, limited by violated vetoes; None if there is
    none.
    """
    value = NORMALISERS[normaliser](rubric, verdicts)
    vetoes = [_share_as_desired(criterion, verdicts) for criterion in rubric.criteria if criterion.veto]
    if value is None or None in vetoes:
        return None
    return min(value, rubric.veto_floor) if any(share != 1 for share in vetoes) else value


def criteria_for_judge(rubric: Rubric, ruled: Mapping[str, Verdict], grading: Grading) -> tuple[Criterion, ...]:
    """Return the criteria without a rule, which the judge decides; none if the judge cannot change the score.

    The judge cannot change the score if rules alone decide it (a violated constraint under ``all_or_nothing``). It
    cannot change it either if a rule has no verdict and the policy for open criteria then gives no score.
    """
    if not ruled:
        return rubric.criteria
    if score_from_rules(rubric, ruled, grading) is not None:
        return ()
    lost = any(criterion.id in ruled and ruled[criterion.id].met is None for criterion in criteria_with_points(rubric))
    if lost and grading.on_missing == "abstain" and grading.normaliser != "all_or_nothing":
        return ()
    return tuple(criterion for criterion in rubric.criteria if criterion.id not in ruled)


def score_from_rules(rubric: Rubric, ruled: Mapping[str, Verdict], grading: Grading) -> float | None:
    """Return the rubric score that follows from the verdicts of rules alone; None if the judge can change it."""
    if not ruled:
        return None
    mets = {name: verdict.met for name, verdict in ruled.items()}
    return _settled_score(rubric, mets, grading.normaliser)


def why_unsuitable(rubric: Rubric, normaliser: Normaliser) -> str | None:
    """Return why the scoring formula does not suit this rubric, and the remedy; None if it does."""
    if normaliser != "rar_explicit" or all(criterion.points > 0 for criterion in criteria_with_points(rubric)):
        return None
    return (
        "rar_explicit has no negative points: phrase pitfalls positively (read them with pitfalls='positive'), "
        "or choose healthbench"
    )


def criteria_with_points(rubric: Rubric) -> tuple[Criterion, ...]:
    """Return the criteria of a rubric that have points."""
    return tuple(criterion for criterion in rubric.criteria if criterion.points)


def lowest_score(rubric: Rubric, normaliser: Normaliser) -> float:
    """Return the lowest score that the formula can give for this rubric with all verdicts known; the highest is 1."""
    least = 0.0
    if normaliser == "healthbench" and rubric.all_negative != "from_one":
        least = math.fsum(min(criterion.points, 0.0) for criterion in rubric.criteria) / _positive_points(rubric)
    return min(least, rubric.veto_floor) if any(criterion.veto for criterion in rubric.criteria) else least


def _share_as_desired(criterion: Criterion, verdicts: Verdicts) -> float | None:
    """Return to what share (0-1) a criterion with points is as desired; None while it is open."""
    met = verdicts.get(criterion.id)
    return None if met is None else float(met) if criterion.points > 0 else 1.0 - float(met)


def _shares_as_desired(rubric: Rubric, verdicts: Verdicts) -> list[float | None]:
    return [_share_as_desired(criterion, verdicts) for criterion in criteria_with_points(rubric)]


def _positive_points(rubric: Rubric) -> float:
    total = math.fsum(max(criterion.points, 0.0) for criterion in rubric.criteria)
    if total <= 0:
        raise ConfigError("no criterion has positive points: there is nothing to divide by (see all_negative)")
    return total
