"""``--rules``, ``--combine`` and ``--reference``: what code checks, and the reference answers that the judge sees."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, Self

from calipers.errors import ConfigError, InputError
from calipers.judging.hybrid import Hybrid
from calipers.judging.judge import Judge
from calipers.rubric.dataset_standards import read_standards, text_of_reference
from calipers.trainers.rows import rubric_text_with_reference
from calipers.types import GroupResult, Rubric, TrajectoryGroup
from calipers.verifiers.constraints import RuleFile, read_rules


class Scoring(Protocol):
    """What scores groups: a Judge, or a Hybrid of rules and a judge."""

    def score_groups(self, groups: Iterable[object], *, ordered: bool = False) -> AsyncIterator[GroupResult]: ...


@dataclass(frozen=True, slots=True)
class Rules:
    """The ``rules`` of a command with the ``settings`` of their Hybrid, and the judge's ``standards`` if reference
    answers are added to them. Ray's workers use it, too.
    """

    rules: RuleFile | None = None
    settings: Mapping[str, Any] = field(default_factory=dict)
    standards: str | None = None

    @classmethod
    def of(cls, options: Mapping[str, Any], judge: Judge) -> Self:
        """Read what a command's options ask for. Raises ConfigError, InputError."""
        path, combine = options["rules"], options["combine"]
        standards = judge.settings.standards if options["reference"] else None
        if path is None and combine is None:
            return cls(standards=standards)
        rules = RuleFile() if path is None else read_rules(path)
        found = cls(rules, dict(rules.settings) | ({} if combine is None else {"combine": combine}), standards)
        try:
            found.scoring(judge)
        except ConfigError as error:
            raise ConfigError(f"{path or '--combine'}: {error}") from None
        return found

    def scoring(self, judge: Judge) -> Scoring:
        """Return what scores the groups. Raises ConfigError for settings that cannot work."""
        if self.rules is None:
            return judge
        return Hybrid(judge, checks=self.rules.constraints_of, gates=self.rules.gates, **self.settings)

    def prepared(
        self, groups: Iterable[TrajectoryGroup], on_error: Callable[[InputError], None] | None
    ) -> Iterator[TrajectoryGroup]:
        """Yield the groups as they are judged. For one whose rules cannot be read, pass an error to ``on_error``.

        Raises the error if ``on_error`` is None.
        """
        for group in groups:
            judged_by_rubric = True
            if self.rules is not None:
                try:
                    asked = self.rules.constraints_of(group)
                except InputError as error:
                    named = InputError(f"group {group.group_id!r}: {error}")
                    if on_error is None:
                        raise named from None
                    on_error(named)
                    continue
                judged_by_rubric = asked.judged and not asked.soft
            yield self._with_reference(group) if judged_by_rubric else group

    def _with_reference(self, group: TrajectoryGroup) -> TrajectoryGroup:
        """Add a group's reference answer to its rubric, unless that has criteria: they state what an answer needs."""
        if self.standards is None or isinstance(group.rubric, Rubric):
            return group
        reference = read_standards(group.extra, rubric=False).reference
        if reference is None:
            return group
        text = rubric_text_with_reference(group.rubric or self.standards, text_of_reference(reference.value))
        return replace(group, rubric=text)
