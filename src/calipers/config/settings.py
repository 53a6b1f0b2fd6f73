"""The options that decide a judge's results, as a run records them.

Not responsible for options that move no score, such as limits and prices.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Final, Self

from calipers.aggregators.priors import Priors
from calipers.config.flat import nested, recorded_options
from calipers.config.option import Option, groups_of
from calipers.config.options import Everyday, JudgeOptions
from calipers.config.question_options import Calls, Defence, Question, Records
from calipers.config.score_options import Panel, Resolution, Reward
from calipers.errors import LedgerError
from calipers.render import BYTES_PER_TOKEN
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric, as_standards
from calipers.types import Rubric, Window


@dataclass(frozen=True, slots=True)
class Named:
    """Which judge this is, and its context window as far as it was known when the run began."""

    judge: str
    endpoint: str
    model: str
    context_window: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN

    @property
    def window(self) -> Window | None:
        """The judge's context window; None if it is not known."""
        return None if self.context_window is None else Window(self.context_window, self.bytes_per_token)


@dataclass(frozen=True, slots=True, repr=False)
class Settings(Everyday):
    """What decides a judge's results, as plain data: recorded with each run in the ledger, and enough to replay it.

    ``judges`` are by slot. ``experience`` holds their priors when the run began, and ``begins_with`` the digest of its
    first group: the same input is judged with the same priors. ``windows`` are context windows that refusals revealed
    since: (number of the first group it holds for, slot, tokens, bytes per token). Of the groups of options, the fields
    that are marked ``recorded`` count.
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
        """The rubric as text, criteria as lines."""
        return self.rubric if isinstance(self.rubric, str) else as_standards(self.rubric)

    def at(self, number: int) -> Self:
        """These settings for the group with this number: with the windows that were known when it began."""
        judges = list(self.judges)
        for first, slot, tokens, density in self.windows:
            if first <= number:
                judges[slot] = replace(judges[slot], context_window=tokens, bytes_per_token=density)
        return replace(self, judges=tuple(judges)) if self.windows else self

    def narrowed(self, number: int, revealed: Sequence[Window | None]) -> Self:
        """These settings with the windows that refusals ``revealed`` by slot, for groups from ``number`` on.

        Returns these settings themselves if no window is smaller than known.
        """
        known = [judge.context_window for judge in self.at(number).judges]
        news = tuple(
            (number, slot, window.tokens, window.bytes_per_token)
            for slot, (window, tokens) in enumerate(zip(revealed, known, strict=True))
            if window is not None and (tokens is None or window.tokens < tokens)
        )
        return replace(self, windows=(*self.windows, *news)) if news else self

    def begun_again(self, before: Mapping[str, Any]) -> Self | None:
        """These settings with the windows that an equal earlier run used, so that its groups render identically.

        None if a window is known to differ now.
        """
        then = Settings.of(before)
        now = [judge.context_window for judge in self.judges]
        if any(tokens not in (None, judge.context_window) for tokens, judge in zip(now, then.judges, strict=True)):
            return None
        return replace(self, judges=then.judges, windows=then.windows)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """The settings in a run's record: a ``to_dict`` after JSON; ``as_recorded_now`` brings older ones up to date.

        Raises LedgerError for settings that this version does not know.
        """
        if unknown := {*_keys(record)} - {*_keys(cls((), resolve=Resolution()).to_dict())}:
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
        values: dict[str, Any] = {option.key: _found(record, option) for option in recorded_options()}
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


def _keys(record: Mapping[str, Any]) -> Iterator[str]:
    """The keys of a record, and those of the objects in it that hold options, with a dot between."""
    objects = {option.record.partition(".")[0] for option in recorded_options() if "." in option.record}
    for key, value in record.items():
        yield key
        if key in objects and isinstance(value, Mapping):
            yield from (f"{key}.{name}" for name in value)


def _found(record: Mapping[str, Any], option: Option) -> Any:
    """The option's recorded value; its default if its object was recorded before there was such an option."""
    top, _, name = option.record.partition(".")
    return record[top].get(name, option.default) if name and record[top] is not None else record[top]


def as_recorded_now(recorded: Mapping[str, Any]) -> Mapping[str, Any]:
    """A run's recorded settings as this version writes them, with the defaults of options that it did not have yet."""
    if not isinstance(recorded, Mapping):
        raise _unreadable()
    if "judges" not in recorded:  # recorded before there were panels, with the judge's fields at the top
        names = [one.name for one in fields(Named)]
        alone = {name: recorded[name] for name in names if name in recorded}
        recorded = {key: value for key, value in recorded.items() if key not in names} | {"judges": [alone]}
    judges = recorded["judges"]
    if not isinstance(judges, list) or not all(isinstance(one, dict) and one.keys() >= _WHO for one in judges):
        raise _unreadable()
    return {**Settings(()).to_dict(), **recorded}


_WHO: Final = frozenset({"judge", "endpoint", "model"})


def _unreadable() -> LedgerError:
    return LedgerError("the settings of a run in the ledger cannot be read: it is damaged, or was changed by hand")
