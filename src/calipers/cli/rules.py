"""``--rules`` and ``--combine``: rules that code checks before the judge is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol

from calipers.errors import ConfigError, InputError
from calipers.types import GroupResult, Rubric, TrajectoryGroup

if TYPE_CHECKING:
    from calipers.judging.judge import Judge
    from calipers.verifiers.constraints import RuleFile


class Scoring(Protocol):
    """The interface that scores groups for a command: a Judge, or a Hybrid of rules and a judge."""

    def score_groups(self, groups: Iterable[object], *, ordered: bool = False) -> AsyncIterator[GroupResult]: ...


@dataclass(frozen=True, slots=True)
class Combined:
    """Makes of a Judge the Hybrid of it and a command's ``rules``, with the ``settings`` of ``Hybrid``."""

    rules: RuleFile
    settings: Mapping[str, Any]

    def __call__(self, judge: Judge) -> Scoring:
        """Return the Hybrid. Raises ConfigError for settings that cannot work."""
        from calipers.judging.hybrid import Hybrid  # noqa: PLC0415 - --help stays quick

        return Hybrid(judge, checks=self.rules.constraints_of, gates=self.rules.gates, **self.settings)


@dataclass(frozen=True, slots=True)
class RulesAndJudge:
    """The rules that a command was given, and the Hybrid that scores groups by them."""

    scoring: Scoring
    rules: RuleFile
    combined: Combined
    """Makes the Hybrid for another Judge, also in another process."""

    def readable(
        self, groups: Iterable[TrajectoryGroup], on_error: Callable[[InputError], None] | None
    ) -> Iterator[TrajectoryGroup]:
        """Yield a command's groups whose constraints can be read; for others, pass an InputError to ``on_error``.

        Raises the error if ``on_error`` is None.
        """
        for group in groups:
            try:
                self.rules.constraints_of(group)
            except InputError as error:
                named = InputError(f"group {group.group_id!r}: {error}")
                if on_error is None:
                    raise named from None
                on_error(named)
            else:
                yield group


def with_references(
    groups: Iterable[TrajectoryGroup], standards: str, *, rules: RuleFile | None = None
) -> Iterator[TrajectoryGroup]:
    """Yield a command's groups, each with its reference answer added to its rubric or to the judge's ``standards``.

    Two kinds of groups stay unchanged: groups with criteria, because criteria state what an answer needs, and groups
    for which the ``rules`` leave the judge only constraints to check.
    """
    from calipers.rubric.dataset_standards import read_standards, text_of_reference  # noqa: PLC0415 - --help stays quick
    from calipers.trainers.rows import rubric_text_with_reference  # noqa: PLC0415 - likewise

    for group in groups:
        reference = read_standards(group.extra, rubric=False).reference
        if reference is None or isinstance(group.rubric, Rubric) or (rules and not _is_scored_by_rubric(group, rules)):
            yield group
        else:
            yield replace(
                group, rubric=rubric_text_with_reference(group.rubric or standards, text_of_reference(reference.value))
            )


def _is_scored_by_rubric(group: TrajectoryGroup, rules: RuleFile) -> bool:
    """Whether the judge scores the group by a rubric, and not only by its soft constraints."""
    try:
        asked = rules.constraints_of(group)
    except InputError:
        return True  # the same error is reported where rules are read
    return asked.judged and not asked.soft


def rules_from_options(judge: Judge, options: Mapping[str, Any]) -> RulesAndJudge | None:
    """Return the rules that a command's ``--rules`` and ``--combine`` ask for, if any.

    Raises ConfigError, InputError.
    """
    path, combine = options["rules"], options["combine"]
    if path is None and combine is None:
        return None
    from calipers.verifiers.constraints import RuleFile, read_rules  # noqa: PLC0415 - --help stays quick

    rules = RuleFile() if path is None else read_rules(path)
    settings = dict(rules.settings) | ({} if combine is None else {"combine": combine})
    combined = Combined(rules, settings)
    try:
        return RulesAndJudge(combined(judge), rules, combined)
    except ConfigError as error:
        raise ConfigError(f"{path or '--combine'}: {error}") from None
