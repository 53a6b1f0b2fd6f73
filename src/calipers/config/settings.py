"""What decides a judge's results, as plain data.

Not responsible for how a judge is reached, at what pace, or at what price: none of that moves a score.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Final, Self

from calipers.aggregators.priors import Priors
from calipers.config.flat import nested, recorded_options
from calipers.config.option import groups_of
from calipers.config.options import (
    Calls,
    Defence,
    Everyday,
    JudgeOptions,
    Panel,
    Question,
    Records,
    Resolution,
    Reward,
)
from calipers.errors import LedgerError
from calipers.render import BYTES_PER_TOKEN
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric, as_standards
from calipers.types import Rubric, Window


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


@dataclass(frozen=True, slots=True, repr=False)
class Settings(Everyday):
    """What decides a judge's results, as plain data: recorded with each run in the ledger, and enough to replay it.

    ``judges`` are in the order of their slots; one alone is no panel. ``experience`` is what was known of them when the
    run began, and ``begins_with`` the digest of its first group: the same input is judged with the same knowledge.
    ``windows`` is what refusals taught since: (number of the first group it holds for, slot, tokens, bytes in a token).
    Of the groups of options, those fields count that are marked ``recorded``.
    """

    judges: tuple[Named, ...]
    rubric: str | Rubric = DEFAULT_RUBRIC
    panel: Panel = Panel()
    resolve: Resolution | None = None
    reward: Reward = Reward()
    question: Question = Question()
    calls: Calls = Calls()
    defence: Defence = Defence()
    records: Records = Records()
    custom_parse: bool = False
    warnings: tuple[str, ...] = ()
    begins_with: str | None = None
    windows: tuple[tuple[int, int, int, float], ...] = ()
    experience: Priors | None = None

    @classmethod
    def chosen(cls, options: JudgeOptions, **more: Any) -> Self:
        """The settings that ``options`` are, without judges and with ``more`` fields."""
        flat = {one.name: getattr(options, one.name) for one in fields(Everyday)}
        groups = {name: getattr(options, name) for name in groups_of(JudgeOptions)}
        return cls((), **flat, **groups, **more)

    @property
    def grading(self) -> Grading | None:
        """How criteria are asked and scored; None for a protocol without criteria."""
        return self.question.grading if isinstance(self.question.grading, Grading) else None

    @property
    def aspects(self) -> tuple[tuple[str, float], ...] | None:
        """The aspects that are scored separately, with their weights."""
        given = self.question.aspects
        return None if given is None else tuple((name, weight) for name, weight in given)  # type: ignore[str-unpack, misc]

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
        """These settings with the windows of a run like it, so that the same groups are shown the same and their
        answers found again; None where a window is known to be another now.
        """
        then = Settings.of(before)
        told = [one.context_window for one in self.judges]
        if any(now is not None and now != one.context_window for now, one in zip(told, then.judges, strict=True)):
            return None
        return replace(self, judges=then.judges, windows=then.windows)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """The settings of a run's record: what ``to_dict`` gave, after JSON; ``as_recorded_now`` mends older ones.

        Raises LedgerError for settings that this version does not know.
        """
        if unknown := record.keys() - cls(()).to_dict().keys():
            raise LedgerError(
                f"the run was recorded with {', '.join(sorted(unknown))}, which this version of calipers does not "
                "know; replay it with the version that recorded it, or a newer one"
            )
        try:
            return cls._read(record)
        except (KeyError, TypeError, ValueError, AttributeError):
            raise _unreadable() from None

    @classmethod
    def _read(cls, record: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {option.key: _found(record, option.record) for option in recorded_options()}
        rate = values.pop("canary_rate")
        if rate:
            values |= {"canaries": "sampled", "canary_rate": rate}
        values |= {
            "grading": None if values["grading"] is None else Grading(**values["grading"]),
            "aspects": None if values["aspects"] is None else tuple((name, one) for name, one in values["aspects"]),
            "weights": None if values["weights"] is None else tuple(values["weights"]),
            "reward_range": tuple(values["reward_range"]),
            "params": values["params"] or None,
        }
        return cls(
            **nested(values),
            judges=tuple(Named(**one) for one in record["judges"]),
            rubric=rubric if isinstance(rubric := record["rubric"], str) else as_rubric(rubric),
            custom_parse=record["custom_parse"],
            warnings=tuple(record["warnings"]),
            begins_with=record["begins_with"],
            windows=tuple((first, slot, tokens, density) for first, slot, tokens, density in record["windows"]),
            experience=None if record["experience"] is None else Priors.of(record["experience"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _OF_THE_RUN}
        record |= {"judges": [asdict(one) for one in self.judges], "experience": _plain(self.experience)}
        record["rubric"] = _plain(self.rubric)
        for option in recorded_options():
            group = getattr(self, option.group) if option.group else self
            top, _, name = option.record.partition(".")
            if group is None:
                record[top] = None
            elif name:
                record.setdefault(top, {})[name] = getattr(group, option.name)
            else:
                record[top] = _plain(getattr(group, option.name))
        return record | {"canary_rate": self.defence.share, "params": dict(self.calls.params or {})}


_OF_THE_RUN: Final = ("custom_parse", "warnings", "begins_with", "windows")


def _plain(value: Any) -> Any:
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _found(record: Mapping[str, Any], key: str) -> Any:
    top, _, name = key.partition(".")
    return record[top][name] if name and record[top] is not None else record[top]


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
