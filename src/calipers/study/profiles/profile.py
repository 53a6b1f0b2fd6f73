"""A judge's profile: its measurable character in numbers, each with an interval and the data behind it.

Scores are in units of the judge's own scale, 0 the lowest and 1 the highest; a pair's winner has 1, its loser 0, and a
tie gives both 0.5; a ranking gives 1 to the first and 0 to the last. *Quality* is gold, mapped to 0-1 by
``gold_range``. Every figure is about one call of the judge. Not responsible for measuring (``fitting``), for files
(``files``), or for answering as the judge would (``judge``).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Final, Literal, TypeAlias

from calipers.study.profiles.figures import Figure, untold

Kind: TypeAlias = Literal["scores", "ranks", "pairs"]
"""What a judge's answers are: scores on levels, rankings of a list, or winners of pairs."""

Feature: TypeAlias = Literal["length", "markdown", "confidence", "flattery", "own_family"]
"""A property of an answer that a judge may prefer whatever the answer is worth; ``features`` defines each."""

_NONE: Final = untold("not measured")


@dataclass(frozen=True, slots=True)
class Subject:
    """Who answered, and to what kind of question: the fields of a record of ``calipers calibrate``."""

    judge: str
    mode: str
    prompt_variant: str | None = None
    temperature: float | None = None
    criterion: str | None = None


@dataclass(frozen=True, slots=True)
class SourceFile:
    """A file from which a profile was fitted: its name without folders, and the SHA-256 of its bytes."""

    name: str
    sha256: str


@dataclass(frozen=True, slots=True)
class Provenance:
    """The origin of a profile: its ``sources``, the day it was fitted (ISO 8601), and calipers' version.

    ``groups`` were judged in ``answers`` answers. ``scale`` is that of the judge's scores, and ``gold_range`` the least
    and greatest gold, both as recorded (None: not recorded, or several). ``note`` is for people. ``off_scale`` counts
    scores outside their scale, which count as its ends, and ``scales`` the scales of scores, each mapped to 0-1.
    """

    sources: tuple[SourceFile, ...]
    fitted: str
    calipers: str
    groups: int
    answers: int
    scale: tuple[float, float] | None = None
    gold_range: tuple[float, float] | None = None
    note: str = ""
    off_scale: int = 0
    scales: int = 1


@dataclass(frozen=True, slots=True)
class Level:
    """A score that the judge gives (0-1), and the ``share`` of its scores that are this one."""

    score: float
    share: float


@dataclass(frozen=True, slots=True)
class ScaleUse:
    """How the judge uses its scale.

    ``levels`` are its scores, lowest first (for pairs: 0, 0.5 and 1; for rankings none). ``used`` is the effective
    number of levels, 1 / sum of their squared shares, where a squared share is how often scores of two different groups
    are equal; it is at most the number of levels. ``ties`` is the share of pairs of a group's members with equal
    scores in one call, and ``tied_groups`` the share of calls in which all scores are equal.
    """

    kind: Kind
    levels: tuple[Level, ...] = ()
    used: Figure = _NONE
    ties: Figure = _NONE
    tied_groups: Figure = _NONE


@dataclass(frozen=True, slots=True)
class NoiseAt:
    """The judge's noise at a ``temperature``."""

    temperature: float
    noise: Figure


@dataclass(frozen=True, slots=True)
class Repeatability:
    """How the judge's answers vary, as standard deviations of a score.

    ``noise`` is that between repeats of one question (sqrt v), and ``order_noise`` that between orders of the same
    candidates, beyond position bias and including noise. ``spread`` is that of a group's members where noise is
    averaged out (sqrt V), ``one_call`` that in one answer, and ``between_groups`` that of groups' means.
    ``reliability`` is V / (V + v), where v is the variance of ``order_noise``, or of ``noise`` without several orders.
    ``by_temperature`` has the noise at each recorded temperature, and ``per_temperature`` its slope.
    """

    noise: Figure = _NONE
    order_noise: Figure = _NONE
    spread: Figure = _NONE
    one_call: Figure = _NONE
    between_groups: Figure = _NONE
    reliability: Figure = _NONE
    by_temperature: tuple[NoiseAt, ...] = ()
    per_temperature: Figure = _NONE


@dataclass(frozen=True, slots=True)
class Positions:
    """What each position of a list adds to a score; 0 on average over the list.

    ``curve`` has a figure for each position of the most frequent list length. A straight line is fitted over the
    positions: ``slope`` is its last value less its first, and ``first`` and ``last`` are how far the first and the last
    position are above the line.
    """

    curve: tuple[Figure, ...] = ()
    slope: Figure = _NONE
    first: Figure = _NONE
    last: Figure = _NONE


@dataclass(frozen=True, slots=True)
class Preference:
    """How far the judge prefers a feature of answers.

    ``per_unit`` is the score that a unit of the feature adds at equal gold and with the other features equal.
    ``covariance`` is cov(score, feature | gold equal) within groups: its sign is the direction in which training
    drifts. ``without_spread`` is the same over groups in which all have the same gold, where nothing else acts.
    """

    per_unit: Figure = _NONE
    covariance: Figure = _NONE
    without_spread: Figure = _NONE


@dataclass(frozen=True, slots=True)
class Failures:
    """How often the judge's answer about a candidate cannot be used, as a share in 0-1.

    ``with_length``, ``with_gold`` and ``with_size`` are correlations of a failure with the length of what was judged,
    with its gold, and with the number of candidates shown.
    """

    rate: Figure = _NONE
    with_length: Figure = _NONE
    with_gold: Figure = _NONE
    with_size: Figure = _NONE


@dataclass(frozen=True, slots=True)
class Agreement:
    """How far one call agrees with gold.

    ``true_positives`` and ``false_positives`` are the shares of good and bad answers that get a positive verdict, and
    ``j`` is their difference; only for verdicts against binary gold. ``somers_d`` is its analogue for lists, 2 AUC - 1
    within groups (Somers 1962), and ``pearson`` the correlation within groups; both are means over groups with
    different gold. ``per_quality`` is the score that quality from 0 to 1 adds within a group.
    ``pearson_at_quarter_spread`` is the correlation expected when the policies have converged to a quarter of the
    spread V and the noise v has stayed.
    """

    true_positives: Figure = _NONE
    false_positives: Figure = _NONE
    j: Figure = _NONE
    somers_d: Figure = _NONE
    pearson: Figure = _NONE
    per_quality: Figure = _NONE
    pearson_at_quarter_spread: Figure = _NONE


@dataclass(frozen=True, slots=True)
class Latent:
    """The ordinal probit model that simulates a judge with this profile, solved from the profile's figures.

    The judge's opinion on a candidate is a sum:

    - ``gain`` * (quality - ``centre``). If ``group_gain`` is not None, it is instead ``gain`` * (quality less the
      group's mean) + ``group_gain`` * (the group's mean - ``centre``). Between groups, the gain has the standard
      deviation ``gain_sd``;
    - preferences: ``per_unit`` for each unit of a feature, and ``injected`` for a candidate that addresses the judge;
    - an error of the candidate.

    This sum is multiplied by a factor of the group, which is log-normal with mean 1 and ``log_spread``. Then errors of
    the group, of the candidate in this order, and of the candidate in this call are added, and the position's bias.
    ``group_sd``, ``candidate_sd``, ``order_sd`` and ``call_sd`` are the errors' standard deviations; ``slope``,
    ``first`` and ``last`` are those of ``Positions``. All of them are in units of opinions, which are arbitrary: only
    their ratios count.

    Opinions below ``thresholds[0]`` get the lowest level of the scale, those below ``thresholds[1]`` the next, and so
    on. Of a pair, the difference of the two opinions is compared with the thresholds. ``gain`` is None where agreement
    with gold is unknown. ``quality_sd`` is the standard deviation of quality within the groups of the fit.

    An answer fails with probability ``failures``, whose log-odds change by ``failures_per_doubling`` with each doubling
    of what is judged over ``usual_length`` (log2 of characters). ``assumed`` says what was assumed where the answers do
    not show it.
    """

    gain: float | None
    group_sd: float
    candidate_sd: float
    order_sd: float
    call_sd: float
    thresholds: tuple[float, ...] = ()
    log_spread: float = 0.0
    gain_sd: float = 0.0
    group_gain: float | None = None
    centre: float = 0.0
    quality_sd: float = 0.0
    slope: float = 0.0
    first: float = 0.0
    last: float = 0.0
    injected: float = 0.0
    per_unit: Mapping[Feature, float] = field(default_factory=dict)
    failures: float = 0.0
    failures_per_doubling: float = 0.0
    usual_length: float | None = None
    assumed: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Profile:
    """A judge's measurable character. ``latent`` is None where too little is known to answer as the judge would.

    ``injection`` is the score that a prompt injection adds to a candidate.
    """

    name: str
    subject: Subject
    provenance: Provenance
    scale: ScaleUse
    repeatability: Repeatability = field(default_factory=Repeatability)
    position: Positions = field(default_factory=Positions)
    preferences: Mapping[Feature, Preference] = field(default_factory=dict)
    injection: Figure = _NONE
    failures: Failures = field(default_factory=Failures)
    agreement: Agreement = field(default_factory=Agreement)
    latent: Latent | None = None
