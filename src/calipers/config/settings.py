"""What decides a judge's results, as plain data.

Not responsible for how a judge is reached, at what pace, or at what price: none of that moves a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from typing import Any, Final, Literal, Self, TypeAlias

from calipers.aggregators.priors import Priors
from calipers.errors import LedgerError
from calipers.protocols.question import OutOfRange
from calipers.render import BYTES_PER_TOKEN
from calipers.rewards.blend import Blend
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric, as_standards
from calipers.types import OnAttack, Rubric, Window

PanelMode: TypeAlias = Literal["all", "cycle", "fallback"]
"""Every judge answers every question; each question goes to another judge; the next judge speaks when one cannot."""


@dataclass(frozen=True, slots=True)
class Named:
    """Which judge this is, and what it can read at once as far as was known when the run began."""

    judge: str
    endpoint: str
    model: str
    context_window: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN

    @property
    def window(self) -> Window | None:
        """What fits the judge at once; None where that is not known."""
        return None if self.context_window is None else Window(self.context_window, self.bytes_per_token)


@dataclass(frozen=True, slots=True)
class Resolution:
    """When to stop asking about a group: once one more presentation adds less than ``tolerance`` to its reliability.

    ``most`` presentations are asked at most. ``unresolved`` is what becomes of a group whose scores differ no more than
    their standard errors: they are kept, tied, or nobody is scored.
    """

    tolerance: float = 0.015
    most: int = 8
    unresolved: Literal["keep", "tie", "abstain"] = "keep"


Pairing: TypeAlias = Literal["all", "pivot", "swiss"]
"""Which pairs are compared: every one, each with one candidate, or round by round those that stand near one another."""

RewardKind: TypeAlias = Literal["score", "win_rate", "rank", "min_max"]


@dataclass(frozen=True, slots=True)
class RewardPlan:
    """How scores become rewards. ``kind`` None is the protocol's own.

    ``ties`` and ``length`` are off at None: how many standard errors apart scores may lie to be tied, and what share of
    the range of scores within one standard error of one another length decides. ``blend`` puts the judge's reward
    together with the trajectory's own, at ``weight``.
    """

    kind: RewardKind | None = None
    ties: float | None = None
    length: float | None = None
    blend: Blend | None = None
    weight: float = 0.5


@dataclass(frozen=True, slots=True)
class Settings:
    """What decides a judge's results, as plain data: kept with each run in the ledger, and enough to replay it.

    ``judges`` are in the order of their slots; one alone is no panel. ``experience`` is what was known of them when the
    run began, and ``begins_with`` the digest of its first group: the same input is judged with the same knowledge.
    ``windows`` is what refusals taught since: (number of the first group it holds for, slot, tokens, bytes in a token).
    """

    judges: tuple[Named, ...]
    protocol: str = "listwise"
    orders: int = 1
    samples: int = 1
    rubric: str | Rubric = DEFAULT_RUBRIC
    reasks: int = 2
    out_of_range: OutOfRange = "reask"
    custom_parse: bool = False
    seed: int = 0
    max_tokens: int | None = 8192
    params: Mapping[str, Any] = field(default_factory=dict)
    reasoning: Literal["hidden", "shown"] = "hidden"
    reward_range: tuple[float, float] = (0.0, 1.0)
    absolute: bool = False
    deadline: float | None = None
    warnings: tuple[str, ...] = ()
    panel: PanelMode = "all"
    quorum: int = 1
    weights: tuple[float, ...] | None = None
    resolve: Resolution | None = None
    reward: RewardPlan = RewardPlan()
    at_once: int | None = None
    pairing: Pairing = "all"
    aspects: tuple[tuple[str, float], ...] | None = None
    begins_with: str | None = None
    windows: tuple[tuple[int, int, int, float], ...] = ()
    learns: bool = True
    experience: Priors | None = None
    grading: Grading | None = None
    on_attack: OnAttack = "report"
    canary_rate: float = 0.0
    expected: bool = False

    @property
    def standards(self) -> str:
        """The rubric as text, criteria as lines, for what can only take text."""
        return self.rubric if isinstance(self.rubric, str) else as_standards(self.rubric)

    def at(self, position: int) -> Self:
        """These settings for the group of that number: within the windows that were known when it began."""
        judges = list(self.judges)
        for first, slot, tokens, density in self.windows:
            if first <= position:
                judges[slot] = replace(judges[slot], context_window=tokens, bytes_per_token=density)
        return replace(self, judges=tuple(judges)) if self.windows else self

    def narrowed(self, position: int, told: Sequence[Window | None]) -> Self:
        """These settings with what refusals told of each slot, for groups from ``position`` on; the same where that is
        no news.
        """
        known = [one.context_window for one in self.at(position).judges]
        news = tuple(
            (position, slot, window.tokens, window.bytes_per_token)
            for slot, (window, tokens) in enumerate(zip(told, known, strict=True))
            if window is not None and (tokens is None or window.tokens < tokens)
        )
        return replace(self, windows=(*self.windows, *news)) if news else self

    def begun_again(self, before: Mapping[str, Any]) -> Self | None:
        """These settings with the windows of a run like it, so that the same groups are shown the same and their answers
        found again; None where a window is known to be another now.
        """
        then = Settings.of(before)
        told = [one.context_window for one in self.judges]
        if any(now is not None and now != one.context_window for now, one in zip(told, then.judges, strict=True)):
            return None
        return replace(self, judges=then.judges, windows=then.windows)

    @classmethod
    def of(cls, recorded: Mapping[str, Any]) -> Self:
        """The settings that a run recorded: what ``to_dict`` gave, after JSON; ``as_recorded_now`` mends older ones.

        Raises LedgerError for settings that this version does not know.
        """
        if unknown := recorded.keys() - {one.name for one in fields(cls)}:
            raise LedgerError(
                f"the run was recorded with {', '.join(sorted(unknown))}, which this version of calipers does not know; "
                "replay it with the version that recorded it, or a newer one"
            )
        try:
            return cls._read(recorded)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _unreadable() from None

    @classmethod
    def _read(cls, recorded: Mapping[str, Any]) -> Self:
        made: Mapping[str, Any] = {
            "judges": tuple(Named(**one) for one in recorded["judges"]),
            **{key: tuple(recorded[key]) for key in ("reward_range", "warnings")},
            "windows": tuple((first, slot, tokens, density) for first, slot, tokens, density in recorded["windows"]),
            "weights": None if recorded["weights"] is None else tuple(recorded["weights"]),
            "resolve": None if recorded["resolve"] is None else Resolution(**recorded["resolve"]),
            "reward": RewardPlan(**recorded["reward"]),
            "aspects": None if recorded["aspects"] is None else tuple((name, one) for name, one in recorded["aspects"]),
            "experience": None if recorded["experience"] is None else Priors.of(recorded["experience"]),
            "rubric": rubric if isinstance(rubric := recorded["rubric"], str) else as_rubric(rubric),
            "grading": None if recorded.get("grading") is None else Grading(**recorded["grading"]),
        }
        return cls(**{**recorded, **made})

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return asdict(self)


def as_recorded_now(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's recorded settings as this version writes them: what it did not know yet is as it was without it."""
    if not isinstance(recorded, Mapping):
        raise _unreadable()
    if "judges" not in recorded:  # before there were panels, the one judge's name stood among the rest
        names = [one.name for one in fields(Named)]
        alone = {name: recorded[name] for name in names if name in recorded}
        recorded = {key: value for key, value in recorded.items() if key not in names} | {"judges": [alone]}
    judges = recorded["judges"]
    if not isinstance(judges, list) or not all(isinstance(one, dict) and one.keys() >= _WHO for one in judges):
        raise _unreadable()
    return {**Settings(()).to_dict(), **recorded}


_WHO: Final = frozenset({"judge", "endpoint", "model"})


def _unreadable() -> LedgerError:
    return LedgerError("what the ledger holds as a run's settings cannot be any: it is damaged, or was changed by hand")
