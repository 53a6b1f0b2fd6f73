"""Criteria of a drafted rubric: asked for, merged where alike, measured on graded groups, written as a file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import median
from typing import Any

from calipers.criteria.checks import overlap, words_of
from calipers.protocols.question import EVIDENCE, draw_candidate_keys, message_content, object_schema
from calipers.render import compose
from calipers.replies.proposed import ProposedCriterion
from calipers.types import Ask, Criterion, GroupResult, JudgeRequest, RenderedGroup
from calipers.types.encoding import counted

_BEFORE = """\
You write criteria by which attempts at a kind of task will be graded. Below is one task of that kind, with the \
instructions the agent works under and several attempts."""

_AFTER = """\
Write at most {most} criteria that tell good attempts from poor ones, here and at other tasks under the same \
instructions:
- Each names one thing that a reader of the record can decide with yes or no, without knowing the right answer \
beforehand and without taste.
- It describes what an attempt does, so that it can be met by good and missed by poor attempts, or the reverse.
- It speaks of this kind of task, not of the names and numbers of this one.
- Results and broken rules come before style and length.
- "points" say what it is worth: 1 to 10 where it is desired, -1 to -10 where it is a fault.

Answer with one JSON object and nothing else: {{"criteria": [{{"text": "...", "points": 5}}, ...]}}"""


def proposal_request(
    view: RenderedGroup, *, most: int, max_tokens: int | None, params: Mapping[str, Any]
) -> JudgeRequest:
    """Return the request that asks a judge to draft criteria for a rubric. It holds all candidates of a group."""
    order = tuple(range(len(view.candidates)))
    keys = draw_candidate_keys(view, len(order), "draft")
    system = "\n\n".join((_BEFORE, EVIDENCE, _AFTER.format(most=most)))
    closing = '\nAnswer in JSON: {"criteria": [{"text": ..., "points": ...}, ...]}'
    messages = (
        {"role": "system", "content": system},
        {"role": "user", "content": message_content(compose(view, order, keys, closing))},
    )
    entry = object_schema({"text": {"type": "string"}, "points": {"type": "integer"}})
    schema = object_schema({"criteria": {"type": "array", "items": entry}})
    return JudgeRequest(messages, keys, Ask(0, order, order), view, schema, max_tokens, params)


ALIKE = 0.6
"""Two texts count as the same criterion if they share at least this part of their words (Jaccard index)."""
_NEGATIONS = frozenset({"not", "never", "without", "fails", "avoids", "lacks", "omits"})
_ENDING = re.compile(r"(?<=\w{3})(?:ing|ed|es|s)\b")
_FILLER = frozenset({
    "agent", "and", "answer", "attempt", "for", "from", "has", "have", "its", "response", "that", "the", "this", "user",
    "with",
})  # fmt: skip


def merge_proposals(proposals: Sequence[tuple[str, ProposedCriterion]], most: int) -> list[tuple[Criterion, int]]:
    """Return at most ``most`` merged criteria for the rubric draft, each with the number of groups that it was proposed
    for; the most groups come first. ``proposals`` are criteria after the id of the group they were proposed for.

    A merged criterion has the first proposal's text and the median of the points. Two proposals are merged if three
    things hold: they share more than a certain part of their words (``ALIKE``), both are desired or both are faults,
    and both or neither are worded negatively.
    """
    merged: list[list[tuple[str, ProposedCriterion]]] = []
    for proposal in proposals:
        same = next((alike for alike in merged if _are_alike(alike[0][1], proposal[1])), None)
        if same is None:
            merged.append([proposal])
        else:
            same.append(proposal)
    by_groups = sorted(((len({group for group, _ in same}), same) for same in merged), key=lambda entry: -entry[0])
    return [
        (Criterion(f"c{place}", same[0][1].text, round(median(criterion.points for _, criterion in same), 1)), groups)
        for place, (groups, same) in enumerate(by_groups[:most], start=1)
    ]


def _are_alike(one: ProposedCriterion, other: ProposedCriterion) -> bool:
    if (one.points > 0) != (other.points > 0):
        return False
    if one.text.casefold() == other.text.casefold():
        return True
    first, second = (words_of(_ENDING.sub("", proposal.text.casefold())) - _FILLER for proposal in (one, other))
    if bool(words_of(one.text) & _NEGATIONS) != bool(words_of(other.text) & _NEGATIONS):
        return False
    return bool(first | second) and overlap(first, second) >= ALIKE


LEAST_AGREEMENT = 0.75
LEAST_DECIDED = 0.7
LEAST_PAIRS = 6
"""A criterion that contradicts gold is dropped only with at least this many pairs with gold. With fewer pairs, the
contradiction may be chance.
"""


@dataclass(frozen=True, slots=True)
class Measured:
    """A drafted criterion, proposed for ``groups`` groups, and its figures. Shares are in [0, 1], or None if there was
    nothing to count.

    ``separates`` is the share of groups in which some trajectories met the criterion and others did not. ``agreement``
    is the share of trajectories on which repeated gradings gave the same verdict. ``decided`` is the share of verdicts
    that were readable, and ``met`` the share of these that are positive. ``pairs`` counts the pairs of trajectories of
    a group that differ both in their verdicts and in gold. ``with_gold`` is the share of them in which gold and the
    criterion prefer the same trajectory.
    """

    criterion: Criterion
    groups: int
    separates: float | None
    agreement: float | None
    decided: float
    met: float | None
    with_gold: float | None = None
    pairs: int = 0

    def fault(self) -> str | None:
        """Return the reason why the drafted criterion is not useful, or None if it is useful."""
        if self.decided < LEAST_DECIDED:
            return f"only {self.decided:.0%} of its verdicts could be read"
        if not self.separates:
            return "it never separates the trajectories of a group"
        if self.agreement is not None and self.agreement < LEAST_AGREEMENT:
            return f"asked twice, the judge agrees with itself on {self.agreement:.0%} of the trajectories"
        if self.with_gold is not None and self.pairs >= LEAST_PAIRS and self.with_gold < 0.5:
            return f"it points the wrong way in {1 - self.with_gold:.0%} of {self.pairs} pairs with gold"
        return None


def measure_criterion(
    criterion: Criterion, groups: int, results: Sequence[GroupResult], gold: Mapping[tuple[str, str], float]
) -> Measured:
    """Return a drafted ``criterion`` with its figures on graded groups. ``gold`` is by (group id, trajectory id)."""

    def votes_on(grades: Any) -> list[bool | None]:
        grade = grades.get(criterion.id) if isinstance(grades, Mapping) else None
        return [] if grade is None else list(grade.get("votes", [grade["met"]]))

    every: list[bool | None] = []
    repeated: list[bool] = []
    separated: list[bool] = []
    right: list[bool] = []
    for result in results:
        votes = {trajectory.id: votes_on(trajectory.extra.get("criteria")) for trajectory in result.trajectories}
        every += [vote for ballot in votes.values() for vote in ballot]
        repeated += [len(set(ballot)) == 1 for ballot in votes.values() if len(ballot) > 1 and None not in ballot]
        first = {name: ballot[0] for name, ballot in votes.items() if ballot and ballot[0] is not None}
        if len(votes) > 1:
            separated.append(len(set(first.values())) > 1)
        valued = [(met, gold[result.group_id, name]) for name, met in first.items() if (result.group_id, name) in gold]
        right += [
            (one_gold > other_gold) == (bool(one_met) == (criterion.points > 0))
            for (one_met, one_gold), (other_met, other_gold) in combinations(valued, 2)
            if one_met != other_met and one_gold != other_gold
        ]
    known = [vote for vote in every if vote is not None]
    decided = len(known) / len(every) if every else 0.0
    shares = _share(separated), _share(repeated), decided, _share(known), _share(right)
    return Measured(criterion, groups, *shares, len(right))


def _share(cases: Sequence[bool]) -> float | None:
    return sum(cases) / len(cases) if cases else None


def rubric_toml(kept: Sequence[Measured], dropped: Sequence[Measured], *, title: str) -> str:
    """Return the drafted rubric as TOML: first the criteria, then the dropped criteria in comments, with the reason."""
    shown = "".join(character if character.isprintable() else " " for character in title)
    parts = [f"# {shown}\n# Edit it: weights are a judge's guess, and figures are from few groups.\n"]
    if not any(measured.criterion.points > 0 for measured in kept):
        parts.append('all_negative = "from_one" # no desired criterion is left: the score starts at 1 and falls\n')
    parts += [f"# {_figures(measured)}\n{_table(measured.criterion)}" for measured in kept]
    parts += ["# Dropped:\n"] if dropped else []
    for measured in dropped:
        commented = "".join(f"# {line}\n" for line in _table(measured.criterion).splitlines())
        parts.append(f"# {measured.fault()} ({_figures(measured)})\n{commented}")
    return "\n".join(parts)


def _table(criterion: Criterion) -> str:
    # JSON's escapes are valid in a TOML text, which also requires DEL to be escaped.
    text = json.dumps(criterion.text, ensure_ascii=False).replace("\x7f", "\\u007f")
    return f'[[criteria]]\nid = "{criterion.id}"\ntext = {text}\npoints = {criterion.points:g}\n'


def _figures(measured: Measured) -> str:
    met, separates, agreement, decided, with_gold = (
        "unknown" if share is None else f"{share:.0%}"
        for share in (measured.met, measured.separates, measured.agreement, measured.decided, measured.with_gold)
    )
    figures = (
        f"proposed for {counted(measured.groups, 'group')}; met by {met}; separates {separates} of groups; "
        f"agrees with itself {agreement}; decided {decided}"
    )
    return f"{figures}; gold agrees {with_gold} of {measured.pairs} pairs" if measured.pairs else figures
