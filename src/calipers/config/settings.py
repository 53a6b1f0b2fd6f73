"""The settings of a run: the options that decide a judge's results, as the ledger records them."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields, is_dataclass, replace
from typing import Any, Final, Self

from calipers.aggregators.priors import Priors
from calipers.config.flat_names import judge_arguments, recorded_options
from calipers.config.grouped_options import (
    Calls,
    Criteria,
    Defence,
    Panel,
    Question,
    Records,
    Resolution,
    Reward,
    Tools,
)
from calipers.config.option import Option
from calipers.config.options import GROUPS, Everyday, JudgeOptions
from calipers.errors import LedgerError
from calipers.render import BYTES_PER_TOKEN
from calipers.rubric import DEFAULT_RUBRIC, Grading, as_rubric, criteria_as_text
from calipers.types import Rubric, Window


@dataclass(frozen=True, slots=True)
class RecordedJudge:
    """One judge of a run as the ledger records it: its name, address and model, and its context window if known."""

    judge: str
    endpoint: str
    model: str
    context_window: int | None = None
    bytes_per_token: float = BYTES_PER_TOKEN


@dataclass(frozen=True, slots=True, repr=False)
class Settings(Everyday):
    """The options that decide a judge's results, as plain data. Recorded with each run, and enough to replay it.

    ``judges`` are in the order of their slots. ``experience`` holds
    the priors that the run started with, and ``begins_with`` is the digest of its first group: a run that starts with
    the same group again gets the same priors.
    ``windows`` are the context windows that refused questions revealed during the run, each as (number of the first
    group that it applies to, slot, tokens, bytes per token). Of the groups of options, only fields marked ``recorded``
    count.
    """

    judges: tuple[RecordedJudge, ...]
    rubric: str | Rubric = DEFAULT_RUBRIC
    criteria: Criteria = Criteria()
    tools: Tools = Tools()
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
    def from_options(cls, options: JudgeOptions, **more: Any) -> Self:
        """Return the settings that follow from ``options``, without judges; ``more`` sets further fields."""
        names = (*(field.name for field in fields(Everyday)), *GROUPS)
        return cls((), **{name: getattr(options, name) for name in names}, **more)

    @property
    def grading(self) -> Grading | None:
        """How criteria are asked about and scored; None for a protocol without criteria."""
        return self.question.grading if isinstance(self.question.grading, Grading) else None

    @property
    def standards(self) -> str:
        """The rubric as text; criteria become one line each."""
        return self.rubric if isinstance(self.rubric, str) else criteria_as_text(self.rubric)

    def for_group(self, number: int) -> Self:
        """Return these settings of a judge for group ``number``, with the context windows known when it began."""
        judges = list(self.judges)
        for first, slot, tokens, density in self.windows:
            if first <= number:
                judges[slot] = replace(judges[slot], context_window=tokens, bytes_per_token=density)
        return replace(self, judges=tuple(judges)) if self.windows else self

    def with_revealed_windows(self, number: int, revealed: Sequence[Window | None]) -> Self:
        """Return these settings of a judge with the context windows in ``revealed``, for the groups from ``number`` on.

        ``revealed`` is by slot. Returns the same object if no window is smaller than the one already known.
        """
        known = [judge.context_window for judge in self.for_group(number).judges]
        news = tuple(
            (number, slot, window.tokens, window.bytes_per_token)
            for slot, (window, tokens) in enumerate(zip(revealed, known, strict=True))
            if window is not None and (tokens is None or window.tokens < tokens)
        )
        return replace(self, windows=(*self.windows, *news)) if news else self

    def with_windows_of(self, then: Settings) -> Self | None:
        """Return these settings of a judge with the context windows of ``then``, those of an equal earlier run.

        The same groups then render as they did in that run. Returns None if a judge's context window is known to differ
        now.
        """
        now = [judge.context_window for judge in self.judges]
        if any(tokens not in (None, judge.context_window) for tokens, judge in zip(now, then.judges, strict=True)):
            return None
        return replace(self, judges=then.judges, windows=then.windows)

    @classmethod
    def of(cls, record: Mapping[str, Any]) -> Self:
        """Read a judge's settings from a run's record: the result of ``to_dict`` after a round trip through JSON.

        Raises LedgerError for settings that this version does not know.
        """
        if unknown := {*_record_keys(record)} - {*_record_keys(cls((), resolve=Resolution()).to_dict())}:
            raise LedgerError(
                f"the run was recorded with {', '.join(sorted(unknown))}, which this version of calipers does not "
                "know; replay it with the version that recorded it, or a newer one"
            )
        try:
            return cls._read(record)
        except (LookupError, TypeError, ValueError, AttributeError):
            raise _unreadable() from None

    @classmethod
    def _read(cls, record: Mapping[str, Any]) -> Self:
        values: dict[str, Any] = {option.key: _recorded_value(record, option) for option in recorded_options()}
        values |= {
            "grading": None if values["grading"] is None else Grading(**values["grading"]),
            "weights": None if values["weights"] is None else tuple(values["weights"]),
            "reward_range": tuple(values["reward_range"]),
            "params": values["params"] or None,
            "tools": tuple(values["tools"]),
        }
        judges = tuple(RecordedJudge(**judge) for judge in record["judges"])
        slots = range(len(judges))
        return cls(
            **judge_arguments(values),
            judges=judges,
            rubric=rubric if isinstance(rubric := record["rubric"], str) else as_rubric(rubric),
            custom_parse=record["custom_parse"],
            warnings=tuple(record["warnings"]),
            begins_with=record["begins_with"],
            windows=tuple(
                (int(first), slots[slot], int(size), float(dense)) for first, slot, size, dense in record["windows"]
            ),
            experience=None if record["experience"] is None else Priors.of(record["experience"]),
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the settings of a judge as plain data, as the ledger records them."""
        record: dict[str, Any] = {name: getattr(self, name) for name in _OF_THE_RUN}
        record |= {"judges": [asdict(judge) for judge in self.judges], "experience": _plain_data(self.experience)}
        record["rubric"] = _plain_data(self.rubric)
        for option in recorded_options():
            group = getattr(self, option.group) if option.group else self
            top, _, name = option.record.partition(".")
            if group is None:
                record[top] = None
            elif name:
                record.setdefault(top, {})[name] = getattr(group, option.name)
            else:
                record[top] = _plain_data(getattr(group, option.name))
        return record | {"params": dict(self.calls.params or {})}


_OF_THE_RUN: Final = ("custom_parse", "warnings", "begins_with", "windows")


def _plain_data(value: Any) -> Any:
    if isinstance(value, Grading):
        return value.to_dict()
    return asdict(value) if is_dataclass(value) and not isinstance(value, type) else value


def _record_keys(record: Mapping[str, Any]) -> Iterator[str]:
    """Yield the keys of a run's record; for objects in it that hold options, also ``object.key``."""
    objects = {option.record.partition(".")[0] for option in recorded_options() if "." in option.record}
    for key, value in record.items():
        yield key
        if key in objects and isinstance(value, Mapping):
            yield from (f"{key}.{name}" for name in value)


def _recorded_value(record: Mapping[str, Any], option: Option) -> Any:
    top, _, name = option.record.partition(".")
    return record[top][name] if name and record[top] is not None else record[top]


def recorded_settings(recorded: Any) -> Mapping[str, Any]:
    """Return a run's recorded settings. Raises LedgerError for a damaged record."""
    judges = recorded.get("judges") if isinstance(recorded, Mapping) else None
    if not isinstance(judges, list) or not all(
        isinstance(judge, dict) and judge.keys() >= _IDENTITY for judge in judges
    ):
        raise _unreadable()
    return recorded  # type: ignore[no-any-return]


_IDENTITY: Final = frozenset({"judge", "endpoint", "model"})


def _unreadable() -> LedgerError:
    return LedgerError("a run's settings in the ledger are damaged or changed by hand: see `calipers ledger verify`")
